-- What providers bill their sellers, as sellers bring it: compared with the list cost of the same calls.

create table provider_bill (
  seller_account text collate "C" not null references account (id),
  provider text collate "C" not null references provider (id),
  day date not null,
  -- The provider's own name of the model.
  model text collate "C" not null check (length(model) between 1 and 200),
  -- The provider's word for a usage class or a line of its bill. Empty for the whole of a day and a model.
  line text collate "C" not null check (length(line) <= 200),
  units bigint check (units >= 0),
  billed_pico bigint not null check (billed_pico >= 0),
  source text not null check (source in ('file', 'key')),
  imported_at timestamptz not null,
  primary key (seller_account, provider, day, model, line)
);
create index provider_bill_by_day on provider_bill (day, provider);
comment on table provider_bill is 'What providers bill their sellers, by UTC day, model and line.';
comment on column provider_bill.model is 'The provider''s own name of the model.';
comment on column provider_bill.line is 'The provider''s word for a usage class or a line. Empty for the whole of a day and a model.';
comment on column provider_bill.billed_pico is 'In pico-USD.';
