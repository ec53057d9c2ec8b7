-- A saved key that its seller has forgotten can be reused no more; offers that stand on it keep it.

alter table credential add column forgotten_at timestamptz;
create index offer_by_credential on offer (credential_id, status);
