//! How an action writes its answer without knowing the dialect.

/// The names of a list: in JSON, and the repeated name in Query requests and XML answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListName {
    pub(crate) json: &'static str,
    pub(crate) query: &'static str,
}

/// The names of a map: in JSON, and those of its flattened entries in Query requests and XML answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapName {
    pub(crate) json: &'static str,
    /// Spellings accepted; the first is the one written.
    pub(crate) query: &'static [&'static str],
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
}

/// A writer of one structure. Empty lists and maps are left out.
pub(crate) trait Output: Sized {
    /// A member that is text, given as its UTF-8 bytes.
    fn bytes(&mut self, name: &'static str, utf8: &[u8]);

    /// A member that is text.
    fn text(&mut self, name: &'static str, value: &str) {
        self.bytes(name, value.as_bytes());
    }

    /// A member that is text of letters, digits and such: nothing in it needs an escape.
    fn plain(&mut self, name: &'static str, ascii: &[u8]);

    /// A member that is true or false.
    fn boolean(&mut self, name: &'static str, value: bool);

    /// A member that is a whole number.
    fn number(&mut self, name: &'static str, value: u64);

    /// A member of raw bytes, written in base64.
    fn blob(&mut self, name: &'static str, raw: &[u8]);

    /// A list of texts.
    fn texts<'t>(&mut self, name: ListName, values: impl IntoIterator<Item = &'t str>);

    /// A list of structures; `write` fills each.
    fn structures<T>(
        &mut self,
        name: ListName,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Self, T),
    );

    /// A map from text to text.
    fn text_map<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (K, V)>,
    );

    /// A map from text to structure; `write` fills each.
    fn structure_map<'t, T>(
        &mut self,
        name: MapName,
        entries: impl IntoIterator<Item = (&'t str, T)>,
        write: impl FnMut(&mut Self, T),
    );
}
