import {
  bigint,
  boolean,
  date,
  id,
  integer,
  json,
  nullable,
  oneOf,
  text,
  texts,
  timestamp,
  withDefault,
} from './column.ts'

/** The events that a webhook may subscribe to. */
export const WEBHOOK_EVENTS = [
  'key.cap_reached',
  'budget.reached',
  'balance.low',
  'deposit.credited',
  'deposit.waiting',
  'job.succeeded',
  'job.failed',
  'job.cancelled',
  'payout.address_changed',
  'payout.held',
  'payout.paid',
  'payout.returned',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** The shapes of a body: the event as JSON, a text as an incoming webhook of Slack takes it, or an e-mail. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'email'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Tables of `0011_webhooks.sql`. */
export const WEBHOOK_TABLES = {
  webhook: {
    id: id('whk'),
    account: id('acc'),
    url: text(),
    label: nullable(text()),
    events: texts<WebhookEvent>(),
    /** Micro-USD. */
    low_balance_micro: nullable(bigint()),
    is_enabled: boolean(),
    secret: json(),
    former_secret: nullable(json()),
    former_until: nullable(timestamp()),
    created_at: timestamp(),
    updated_at: timestamp(),
    format: withDefault(oneOf(WEBHOOK_FORMATS)),
  },
  /** A table of `0222_email_alerts.sql`. */
  alert_mail_day: { account: id('acc'), day: date(), alerts: integer() },
  webhook_alert: { webhook_id: id('whk'), subject: text(), mark: text(), at: timestamp() },
  webhook_delivery: {
    id: id('whd'),
    webhook_id: id('whk'),
    event: text(),
    body: text(),
    status: oneOf(DELIVERY_STATUSES),
    attempts: withDefault(integer()),
    status_code: nullable(integer()),
    error: nullable(text()),
    created_at: timestamp(),
    attempted_at: nullable(timestamp()),
    delivered_at: nullable(timestamp()),
  },
}
