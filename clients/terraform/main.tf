# Queues as people declare them: every attribute, documents with key order of their own, a dead-letter pair, FIFO.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.90, < 7"
    }
  }
}

variable "endpoint" {
  type = string
}

variable "prefix" {
  type = string
}

variable "visibility_timeout" {
  type    = number
  default = 45
}

variable "guarded" {
  description = "Whether the queue of orders has a policy and a dead-letter queue."
  type        = bool
  default     = true
}

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "123456789012"
  secret_key                  = "secret"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true

  endpoints {
    sqs = var.endpoint
  }

  default_tags {
    tags = { owner = "suite" }
  }
}

resource "aws_sqs_queue" "dead" {
  name                      = "${var.prefix}-dead"
  message_retention_seconds = 1209600
}

resource "aws_sqs_queue" "orders" {
  name                       = "${var.prefix}-orders"
  delay_seconds              = 5
  max_message_size           = 2048
  message_retention_seconds  = 86400
  receive_wait_time_seconds  = 10
  visibility_timeout_seconds = var.visibility_timeout
  sqs_managed_sse_enabled    = false
  tags                       = { empty = "", Team = "größer" }
}

resource "aws_sqs_queue_policy" "orders" {
  count     = var.guarded ? 1 : 0
  queue_url = aws_sqs_queue.orders.id
  policy    = <<-JSON
    { "Version": "2012-10-17",
      "Statement": [ { "Sid": "feed", "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
        "Resource": "${aws_sqs_queue.orders.arn}", "Action": ["sqs:SendMessage"] } ] }
  JSON
}

resource "aws_sqs_queue_redrive_policy" "orders" {
  count     = var.guarded ? 1 : 0
  queue_url = aws_sqs_queue.orders.id
  redrive_policy = jsonencode({
    maxReceiveCount     = 4
    deadLetterTargetArn = aws_sqs_queue.dead.arn
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "dead" {
  queue_url = aws_sqs_queue.dead.id
  redrive_allow_policy = jsonencode({
    sourceQueueArns   = [aws_sqs_queue.orders.arn]
    redrivePermission = "byQueue"
  })
}

resource "aws_sqs_queue" "dead_fifo" {
  name       = "${var.prefix}-dead.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "events" {
  name                        = "${var.prefix}-events.fifo"
  fifo_queue                  = true
  content_based_deduplication = true
  deduplication_scope         = "messageGroup"
  fifo_throughput_limit       = "perMessageGroupId"
}

resource "aws_sqs_queue_redrive_policy" "events" {
  queue_url = aws_sqs_queue.events.id
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_fifo.arn
    maxReceiveCount     = 2
  })
}

# Read by name, as another configuration would.
data "aws_sqs_queue" "orders" {
  name = aws_sqs_queue.orders.name
}

output "orders_url" {
  value = data.aws_sqs_queue.orders.url
}
