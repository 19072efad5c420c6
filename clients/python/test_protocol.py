"""The two virtual environments exist to cover two protocols; this guards that they still do."""

import os


def test_client_speaks_the_protocol_this_run_is_for(protocol):
    expected = os.environ.get("SUITE_PROTOCOL")
    assert protocol in ("json", "query")
    assert expected in (None, protocol)
