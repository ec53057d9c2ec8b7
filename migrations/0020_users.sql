-- Owners of wallets. One wallet is one user, with an account on each side of the market.

create table app_user (
  id text collate "C" primary key check (id ~ '^usr_[0-9A-Za-z_-]{1,64}$'),
  wallet text collate "C" not null check (wallet ~ '^0x[0-9a-f]{40}$'),
  buyer_account text collate "C" not null references account (id),
  seller_account text collate "C" not null references account (id),
  created_at timestamptz not null,
  constraint app_user_one_wallet unique (wallet),
  constraint app_user_one_buyer_account unique (buyer_account),
  constraint app_user_one_seller_account unique (seller_account)
);
