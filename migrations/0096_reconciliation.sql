-- Comparisons of the treasury on the chain, its transfers, and the books.
create table treasury_check (
  id text collate "C" primary key,
  started_at timestamptz not null,
  took_ms integer not null check (took_ms >= 0),
  -- The last block that was read; null before the first.
  block bigint,
  -- The balance that the chain says, and the one that the transfers leave.
  chain_balance bigint,
  moves_balance bigint,
  -- What came and left, by kind, and what does not fit, each as a sentence.
  sums jsonb not null,
  mismatches jsonb not null,
  -- Why nothing was compared.
  failure text check (length(failure) <= 200)
);
