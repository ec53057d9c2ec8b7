-- Alerts that go to a verified e-mail address instead of a server.

alter table webhook drop constraint webhook_format_check;
alter table webhook add constraint webhook_format_check check (format in ('standard', 'slack', 'email'));
alter table webhook add constraint webhook_email check ((format = 'email') = (url like 'mailto:%'));
comment on column webhook.format is 'The shape of the body: the event as JSON, a text as Slack takes it, or an e-mail to the address of a mailto: URL.';

create table alert_mail_day (
  account text collate "C" not null references account (id),
  day date not null,
  alerts int not null check (alerts > 0),
  primary key (account, day)
);
-- Old days are removed.
create index alert_mail_day_by_age on alert_mail_day (day);
comment on table alert_mail_day is 'Alerts by e-mail of an account on a UTC day, sent or above the limit.';
