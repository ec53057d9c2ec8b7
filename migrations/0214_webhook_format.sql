-- Webhooks whose body an incoming webhook of Slack takes.

alter table webhook add column format text not null default 'standard' check (format in ('standard', 'slack'));
comment on column webhook.format is 'The shape of the body: the event as JSON, or a text as Slack takes it.';
