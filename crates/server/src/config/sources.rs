//! Where settings come from: layers of text, each laid over the former.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::form::Form;
use super::settings::SETTINGS;
use super::{credentials, queues};

/// What the command line says about settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The file named by `--config`.
    pub(crate) config: Option<PathBuf>,
    /// Keys of the settings whose flags were given, with their text.
    pub(crate) values: Vec<(&'static str, String)>,
}

/// Where a piece of configuration was written; its `Display` is a phrase such as `tidegate.toml, line 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nowhere: the embedded default.
    Default,
    /// The configuration file.
    File {
        /// The file, as it was named.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag.
    Flag {
        /// Its name, with the hyphens.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the embedded default"),
            Origin::File { path, line } => write!(f, "{}, line {line}", path.display()),
            Origin::Environment { variable } => write!(f, "environment variable {variable}"),
            Origin::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}

/// The uppermost text of each setting that has one.
#[derive(Debug, Default)]
pub(super) struct Layers {
    given: BTreeMap<&'static str, Given>,
}

#[derive(Debug)]
struct Given {
    text: String,
    origin: Origin,
}

/// The environment variables that are ours.
pub(super) struct Environment {
    /// The file that `TIDEGATE_CONFIG` names.
    pub(super) config: Option<PathBuf>,
    /// Settings.
    pub(super) values: Vec<(&'static str, String)>,
}

const PREFIX: &str = "TIDEGATE_";
const CONFIG_VARIABLE: &str = "TIDEGATE_CONFIG";
const QUEUE_KEY: &str = "queue";

/// The tables of the file that are no settings.
#[derive(Default)]
pub(super) struct Tables {
    /// Declared queues.
    pub(super) queues: Vec<queues::Declared>,
    /// Declared credentials.
    pub(super) credentials: Vec<credentials::Declared>,
}

impl Layers {
    /// The setting's value from the uppermost source that has it, else its default.
    pub(super) fn value<F: Form>(
        &self,
        key: &'static str,
        default: &'static str,
        form: &F,
    ) -> Result<F::Value, ConfigError> {
        let given = self.given.get(key);
        let text = given.map_or(default, |given| &given.text);
        form.parse(text).ok_or_else(|| ConfigError::ValueRefused {
            key,
            value: form.shown(text).into(),
            origin: self.origin(key),
            allowed: form.allowed(),
        })
    }

    /// Where the setting's value comes from.
    pub(super) fn origin(&self, key: &str) -> Origin {
        self.given.get(key).map_or(Origin::Default, |given| given.origin.clone())
    }

    /// Reads the file: settings into the layers, declared queues and credentials to the caller.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<Tables, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::FileUnreadable { path: path.into(), source })?;
        let place = Place { path, text: &text };
        let document = DeTable::parse(&text).map_err(|error| place.syntax_error(&error))?;

        let mut declared = Tables::default();
        for (key, value) in document.get_ref() {
            let origin = place.origin(key);
            let key = key.get_ref().as_ref();
            if key == QUEUE_KEY {
                declared.queues = queues::read(value, &place)?;
                continue;
            }
            if key == credentials::KEY {
                declared.credentials = credentials::read(value, &place)?;
                continue;
            }
            let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
                let known = SETTINGS.iter().map(|setting| setting.key).chain([QUEUE_KEY, credentials::KEY]);
                return Err(ConfigError::KeyUnknown {
                    key: key.into(),
                    origin,
                    nearest: nearest(key, known),
                });
            };
            let text = scalar(value.get_ref()).map_err(|found| ConfigError::TypeRefused {
                key: key.into(),
                found,
                origin: origin.clone(),
                allowed: "a string, a number or a boolean",
            })?;
            self.given.insert(setting.key, Given { text, origin });
        }
        Ok(declared)
    }

    /// Lays the variables over what is there.
    pub(super) fn add_environment(&mut self, values: Vec<(&'static str, String)>) {
        for (key, text) in values {
            let variable = format!("{PREFIX}{}", key.to_ascii_uppercase());
            self.given.insert(key, Given { text, origin: Origin::Environment { variable } });
        }
    }

    /// Lays the flags over what is there.
    pub(super) fn add_flags(&mut self, flags: &Flags) {
        for (key, text) in &flags.values {
            let origin = Origin::Flag { flag: format!("--{}", key.replace('_', "-")) };
            self.given.insert(key, Given { text: text.clone(), origin });
        }
    }
}

/// Picks out the variables that are ours. An empty one counts as not given: compose files pass on unset ones so.
pub(super) fn sort_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Environment, ConfigError> {
    let mut sorted = Environment { config: None, values: Vec::new() };
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        if name == CONFIG_VARIABLE {
            sorted.config = (!value.is_empty()).then(|| value.into());
            continue;
        }
        // Of the commands that ask a server; it may be set for all of them.
        if name == crate::operator::URL_VARIABLE {
            continue;
        }
        let value = value.into_string().map_err(|_| ConfigError::VariableNotText { name: name.into() })?;
        match SETTINGS.iter().find(|setting| setting.variable() == name) {
            Some(_) if value.is_empty() => {}
            Some(setting) => sorted.values.push((setting.key, value)),
            None if is_service_link(name, &value) => {}
            None => {
                let known: Vec<String> = SETTINGS.iter().map(super::settings::Setting::variable).collect();
                let known = known.iter().map(String::as_str).chain([CONFIG_VARIABLE]);
                return Err(ConfigError::VariableUnknown {
                    name: name.into(),
                    nearest: nearest(name, known),
                });
            }
        }
    }
    Ok(sorted)
}

/// Whether Kubernetes made this variable, as it does in every pod for a service that is called `tidegate` or begins so.
fn is_service_link(name: &str, value: &str) -> bool {
    let address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let part = ["_TCP", "_UDP", "_SCTP"].iter().any(|protocol| name.contains(&format!("{protocol}_")));
    name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || address
        || (part && name.contains("_PORT_"))
}

/// The known word that looks most like the given one, if any looks like it at all. The measure favours words that begin
/// alike, since that is how names of settings are misremembered (`listen_address`); its bound is the one that clap uses.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let word = word.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&word, &known.to_lowercase());
    let scored = known.into_iter().map(|known| (likeness(known), known));
    let (score, best) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score > 0.8).then(|| best.into())
}

/// The file that is being read, to turn spans into lines.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Place<'_> {
    /// Where the spanned thing begins.
    pub(super) fn origin<T>(&self, spanned: &Spanned<T>) -> Origin {
        Origin::File { path: self.path.into(), line: self.position(spanned.span().start).0 }
    }

    /// What the parser says, without the excerpt that it would show: there may be a secret in it.
    fn syntax_error(&self, error: &toml::de::Error) -> ConfigError {
        let (line, column) = self.position(error.span().unwrap_or_default().start);
        let message = error.message().replace('\n', ", ");
        ConfigError::FileSyntax { path: self.path.into(), line, column, message }
    }

    /// Line and column of a byte, both from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = String::from_utf8_lossy(&self.text.as_bytes()[..offset.min(self.text.len())]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
        (line, column)
    }
}

/// The text of a value that is not made of others; else what it is.
pub(super) fn scalar(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().into()),
        DeValue::Integer(number) => match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err("a number too large"),
        },
        DeValue::Float(number) => Ok(number.as_str().into()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        DeValue::Datetime(_) => Err("a date"),
        DeValue::Array(_) => Err("a list"),
        DeValue::Table(_) => Err("a table"),
    }
}
