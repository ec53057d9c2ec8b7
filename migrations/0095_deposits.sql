-- What came to the treasury and what left it, as the chain's blocks show it, and what buyers deposit. Amounts are
-- micro-USD, which are the token's own units.

-- How far the chain was read for a token of a treasury.
create table treasury_cursor (
  chain_id bigint not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  first_block bigint not null check (first_block >= 0),
  -- The balance before the first block.
  opening bigint not null check (opening >= 0),
  -- The first block that was not read, and what all transfers that were read leave.
  next_block bigint not null,
  balance bigint not null,
  -- The last block at whose end the chain had the balance that the transfers leave. What came later is read again when the
  -- two do not agree.
  proven_block bigint not null,
  proven_at timestamptz not null default now(),
  -- How often they did not agree since then, and the difference that was left when reading again did not help.
  misses integer not null default 0 check (misses >= 0),
  difference bigint not null default 0,
  primary key (chain_id, asset, treasury),
  constraint treasury_cursor_in_order check (first_block <= next_block and proven_block < next_block)
);

-- Every transfer of the token to or from the treasury.
create table treasury_move (
  chain_id bigint not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  direction text not null check (direction in ('in', 'out')),
  tx_hash text collate "C" not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- Which of the transaction's transfers in this direction it is, from 0. A log's index is that of its block, and after a
  -- reorganisation the same transaction is in another block.
  place integer not null check (place >= 0),
  block bigint not null,
  log_index integer not null,
  -- The other side.
  party text collate "C" not null check (party ~ '^0x[0-9a-f]{40}$'),
  amount bigint not null check (amount > 0),
  -- That of the authorization (EIP-3009) which moved it.
  nonce text collate "C" check (nonce ~ '^0x[0-9a-f]{64}$'),
  -- What it is. New: nobody has looked. Of what comes in, unknown is what no account can be named for; of what leaves, what
  -- nobody here sent.
  kind text not null default 'new'
    check (kind in ('new', 'deposit', 'payment', 'capital', 'payout', 'sweep', 'unknown')),
  -- The deposit, the payment's request id or the transfer out of the treasury that it belongs to.
  ref text collate "C",
  reason text check (length(reason) <= 200),
  seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  primary key (chain_id, asset, treasury, tx_hash, direction, place),
  constraint treasury_move_kind_fits check (
    kind in ('new', 'unknown', 'sweep') or (kind = 'payout') = (direction = 'out')),
  constraint treasury_move_named check ((kind in ('deposit', 'payout')) <= (ref is not null))
);
create index treasury_move_new on treasury_move (block, log_index) where kind = 'new';
create index treasury_move_unknown on treasury_move (party) where kind = 'unknown';
create index treasury_move_by_nonce on treasury_move (party, nonce) where nonce is not null;
create index treasury_move_by_ref on treasury_move (ref) where ref is not null;
create index treasury_move_by_block on treasury_move (block);
create trigger treasury_move_kept before delete on treasury_move for each row execute function refuse_change();

-- A move keeps what it is, and money that was given to somebody is not given again.
create function keep_treasury_move() returns trigger language plpgsql as $$
begin
  if (new.chain_id, new.asset, new.treasury, new.direction, new.tx_hash, new.place, new.party, new.amount, new.nonce)
       is distinct from
     (old.chain_id, old.asset, old.treasury, old.direction, old.tx_hash, old.place, old.party, old.amount, old.nonce)
     or (old.kind not in ('new', 'unknown') and (new.kind, new.ref) is distinct from (old.kind, old.ref)) then
    raise exception 'a move of the treasury keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger treasury_move_keeps before update on treasury_move
  for each row execute function keep_treasury_move();

-- Other tokens that came to the treasury. Nobody is credited for them. They are counted by token, because anybody may
-- send many.
create table stray_token (
  chain_id bigint not null,
  token text collate "C" not null check (token ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  transfers bigint not null check (transfers > 0),
  -- In the token's own units.
  amount numeric not null check (amount >= 0),
  last_sender text collate "C" not null,
  last_tx text collate "C" not null,
  last_block bigint not null,
  first_seen_at timestamptz not null default now(),
  primary key (chain_id, treasury, token)
);

-- What buyers deposit: a transfer that came by itself, or an authorization (EIP-3009) whose nonce names the account.
create table deposit (
  id text collate "C" primary key check (id ~ '^dep_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references account (id),
  method text not null check (method in ('transfer', 'authorization')),
  sender text collate "C" not null check (sender ~ '^0x[0-9a-f]{40}$'),
  amount bigint not null check (amount > 0),
  state text not null check (state in ('opened', 'signed', 'credited', 'refused', 'expired')),
  reason text check (length(reason) <= 200),
  chain_id bigint not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  -- Of an authorization.
  nonce text collate "C" unique check (nonce ~ '^0x[0-9a-f]{64}$'),
  valid_until timestamptz,
  signature text check (signature ~ '^0x[0-9a-f]{130}$'),
  tx_hash text collate "C" check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  block bigint,
  opened_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  credited_at timestamptz,
  constraint deposit_signed_whole check ((method = 'authorization') = (nonce is not null and valid_until is not null)),
  constraint deposit_signed check (state <> 'signed' or signature is not null),
  constraint deposit_credited_whole check (
    (state = 'credited') = (credited_at is not null) and (state = 'credited') = (tx_hash is not null)
    and (state = 'credited') = (block is not null))
);
create index deposit_by_account on deposit (account, id);
create index deposit_open on deposit (valid_until) where state in ('opened', 'signed');
create trigger deposit_kept before delete on deposit for each row execute function refuse_change();

-- A deposit keeps what it is, and is credited once.
create function keep_deposit() returns trigger language plpgsql as $$
begin
  if (new.id, new.account, new.method, new.sender, new.nonce, new.valid_until, new.chain_id, new.asset, new.treasury)
       is distinct from
     (old.id, old.account, old.method, old.sender, old.nonce, old.valid_until, old.chain_id, old.asset, old.treasury)
     or (old.state = 'credited' and (new.state, new.amount) is distinct from (old.state, old.amount))
     or (old.signature is not null and new.signature is distinct from old.signature) then
    raise exception 'a deposit keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger deposit_keeps before update on deposit for each row execute function keep_deposit();
