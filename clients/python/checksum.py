"""The attribute digest, computed independently of any SDK."""

import hashlib


def md5_of_body(body):
    return hashlib.md5(body.encode("utf-8")).hexdigest()


def md5_of_attributes(attributes):
    """`attributes` has the shape of boto3's MessageAttributes."""
    digest = hashlib.md5()

    def field(data):
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)

    for name in sorted(attributes):
        value = attributes[name]
        field(name.encode("utf-8"))
        field(value["DataType"].encode("utf-8"))
        if value["DataType"].split(".")[0] == "Binary":
            digest.update(b"\x02")
            field(value["BinaryValue"])
        else:
            digest.update(b"\x01")
            field(value["StringValue"].encode("utf-8"))
    return digest.hexdigest()
