-- What of the snapshot has been published. Versions come from one sequence, so they rise over every restart and over
-- every loss of the store.

create sequence snapshot_version;

create table snapshot_document (
  name text collate "C" primary key,
  version bigint not null,
  -- SHA-256 of the body as published.
  body_hash text not null,
  published_at timestamptz not null
);
