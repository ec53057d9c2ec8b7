-- Accounts of the ledger. `shared/ledger/account-kinds.ts` says the purpose of each kind. Amounts are micro-USD.
create table account (
  id text not null,
  kind text not null,
  -- The user or organisation. Null for accounts of the platform.
  owner text,
  currency text not null default 'USD'::text,
  balance bigint not null default 0,
  -- The number of entries that changed the balance. The spending gate never goes back to an older one.
  version bigint not null default 0,
  -- True for accounts that every call touches. Their balance is the sum of their entries, so that no call waits for a
  -- row of theirs.
  is_summed boolean not null generated always as ((kind = ANY (ARRAY['platform_fee'::text, 'external_usdc'::text, 'external_fiat'::text, 'promo'::text]))) stored,
  created_at timestamp with time zone not null default now(),
  PRIMARY KEY (id),
  constraint account_currency_check CHECK (currency = 'USD'::text),
  constraint account_id_check CHECK (id ~ '^acc_[0-9A-Za-z_-]{1,64}$'::text),
  constraint account_kind_check CHECK (kind = ANY (ARRAY['buyer_credit'::text, 'job_escrow'::text, 'seller_pending'::text, 'seller_available'::text, 'payout_in_flight'::text, 'wallet_advance'::text, 'platform_fee'::text, 'platform_shortfall'::text, 'platform_capital'::text, 'external_usdc'::text, 'external_fiat'::text, 'promo'::text])),
  constraint account_not_overdrawn CHECK (balance >= 0 OR (kind <> ALL (ARRAY['buyer_credit'::text, 'job_escrow'::text, 'seller_pending'::text, 'seller_available'::text, 'payout_in_flight'::text, 'platform_capital'::text]))),
  constraint account_owner_known CHECK ((owner IS NULL) = (kind = ANY (ARRAY['platform_fee'::text, 'platform_shortfall'::text, 'platform_capital'::text, 'external_usdc'::text, 'external_fiat'::text, 'promo'::text]))),
  constraint account_shortfall_owed CHECK (balance <= 0 OR (kind <> ALL (ARRAY['platform_shortfall'::text, 'wallet_advance'::text]))),
  constraint account_summed_is_bare CHECK (balance = 0 AND version = 0 OR (kind <> ALL (ARRAY['platform_fee'::text, 'external_usdc'::text, 'external_fiat'::text, 'promo'::text]))),
  constraint account_version_check CHECK (version >= 0),
  constraint account_within_limit CHECK (kind <> 'buyer_credit'::text OR balance < '100000000000000'::bigint)
);
CREATE INDEX account_advanced ON public.account USING btree (id) WHERE ((kind = 'wallet_advance'::text) AND (balance < 0));
CREATE INDEX account_by_owner ON public.account USING btree (owner, kind) WHERE (owner IS NOT NULL);
CREATE INDEX account_funded ON public.account USING btree (id) WHERE ((kind = 'buyer_credit'::text) AND (balance > 0));
CREATE UNIQUE INDEX account_platform_once ON public.account USING btree (kind) WHERE (owner IS NULL);
CREATE TRIGGER account_identity BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION keep_account_identity();
CREATE TRIGGER account_kept BEFORE DELETE ON account FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER account_not_truncated BEFORE TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The outbox to the spending gate: the newest balance of each buyer account that the gate has not confirmed.
create table account_change (
  account text not null,
  balance bigint not null,
  version bigint not null,
  changed_at timestamp with time zone not null default now(),
  PRIMARY KEY (account),
  FOREIGN KEY (account) REFERENCES account(id)
);
CREATE INDEX account_change_by_age ON public.account_change USING btree (changed_at);

-- Owners of wallets. One wallet is one user, with an account on each side of the market.
create table app_user (
  id text not null,
  -- The wallet, in lower case. Null until one is linked. It is linked once.
  wallet text,
  buyer_account text not null,
  seller_account text not null,
  created_at timestamp with time zone not null,
  -- When the wallet was linked. Payouts to it wait from then on. Null for a user that began with it.
  wallet_since timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (buyer_account),
  UNIQUE (seller_account),
  UNIQUE (wallet),
  FOREIGN KEY (buyer_account) REFERENCES account(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint app_user_id_check CHECK (id ~ '^usr_[0-9A-Za-z_-]{1,64}$'::text),
  constraint app_user_wallet_check CHECK (wallet ~ '^0x[0-9a-f]{40}$'::text)
);
CREATE TRIGGER app_user_wallet_kept BEFORE UPDATE OF wallet ON app_user FOR EACH ROW EXECUTE FUNCTION keep_wallet();

-- Groups of members that share workspaces and their credit.
create table organization (
  id text not null,
  name text not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (id),
  constraint organization_id_check CHECK (id ~ '^org_[0-9A-Za-z_-]{1,64}$'::text),
  constraint organization_name_check CHECK (length(name) >= 1 AND length(name) <= 200)
);

-- The members of organisations with their roles.
create table organization_member (
  organization_id text not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (organization_id, user_id),
  FOREIGN KEY (organization_id) REFERENCES organization(id),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint organization_member_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text]))
);
CREATE INDEX organization_member_by_user ON public.organization_member USING btree (user_id, organization_id);

-- Invitations of wallets. The wallet need not have signed in before.
create table organization_invitation (
  id text not null,
  organization_id text not null,
  wallet text not null,
  role text not null,
  invited_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  answered_at timestamp with time zone,
  answer text,
  PRIMARY KEY (id),
  FOREIGN KEY (organization_id) REFERENCES organization(id),
  constraint organization_invitation_answer CHECK ((answered_at IS NULL) = (answer IS NULL)),
  constraint organization_invitation_answer_check CHECK (answer = ANY (ARRAY['accepted'::text, 'declined'::text, 'withdrawn'::text])),
  constraint organization_invitation_id_check CHECK (id ~ '^inv_[0-9A-Za-z_-]{1,64}$'::text),
  constraint organization_invitation_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])),
  constraint organization_invitation_wallet_check CHECK (wallet ~ '^0x[0-9a-f]{40}$'::text)
);
CREATE INDEX organization_invitation_by_wallet ON public.organization_invitation USING btree (wallet, id) WHERE (answered_at IS NULL);
CREATE UNIQUE INDEX organization_invitation_one_open ON public.organization_invitation USING btree (organization_id, wallet) WHERE (answered_at IS NULL);

-- Links that make a signed-in user a member of an organisation. A link works while its maker may change people.
create table invite_link (
  id text not null,
  organization_id text not null,
  -- HMAC-SHA-256 of the secret in the link, in hex. The secret itself is not stored.
  hash text not null,
  -- The role of new members. A link makes no owner.
  role text not null,
  -- The user or management key that made the link.
  created_by text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  max_uses integer not null,
  -- The members who joined by the link.
  uses integer not null,
  revoked_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (hash),
  FOREIGN KEY (organization_id) REFERENCES organization(id),
  constraint invite_link_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint invite_link_id_check CHECK (id ~ '^ivl_[0-9A-Za-z_-]{1,64}$'::text),
  constraint invite_link_max_uses_check CHECK (max_uses >= 1 AND max_uses <= 100),
  constraint invite_link_role_check CHECK (role = ANY (ARRAY['admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])),
  constraint invite_link_uses CHECK (uses >= 0 AND uses <= max_uses),
  constraint invite_link_window CHECK (expires_at > created_at AND expires_at <= (created_at + '30 days'::interval))
);
CREATE INDEX invite_link_by_organization ON public.invite_link USING btree (organization_id, id) WHERE (revoked_at IS NULL);

-- Parts of an organisation, each with accounts of its own. A closed workspace can be read, and nothing begins in it.
create table workspace (
  id text not null,
  organization_id text not null,
  name text not null,
  buyer_account text not null,
  seller_account text not null,
  created_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (buyer_account),
  UNIQUE (seller_account),
  FOREIGN KEY (buyer_account) REFERENCES account(id),
  FOREIGN KEY (organization_id) REFERENCES organization(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint workspace_id_check CHECK (id ~ '^wsp_[0-9A-Za-z_-]{1,64}$'::text),
  constraint workspace_name_check CHECK (length(name) >= 1 AND length(name) <= 200)
);
CREATE UNIQUE INDEX workspace_one_name ON public.workspace USING btree (organization_id, name) WHERE (closed_at IS NULL);
CREATE TRIGGER workspace_stays_closed BEFORE UPDATE ON workspace FOR EACH ROW EXECUTE FUNCTION keep_closed();

-- Monthly budgets of members and workspaces. The gate counts the calls of the UTC month for each.
create table budget (
  -- Names the counter in the gate. A budget that was removed and set again has a new counter.
  id text not null,
  organization_id text not null,
  -- The workspace whose calls count. Null for the budget of a member.
  workspace_id text,
  -- The member whose calls in all workspaces of the organisation count. Null for the budget of a workspace.
  user_id text,
  -- The most that the calls of a UTC month may cost, in micro-USD.
  limit_micro bigint not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (id),
  UNIQUE (organization_id, user_id),
  UNIQUE (workspace_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES organization_member(organization_id, user_id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id) REFERENCES workspace(id),
  constraint budget_id_check CHECK (id ~ '^bdg_[0-9A-Za-z_-]{1,64}$'::text),
  constraint budget_limit_micro_check CHECK (limit_micro > 0),
  constraint budget_of_one CHECK (num_nonnulls(workspace_id, user_id) = 1)
);

-- Keys of buyers, sellers and operators, by a hash of their secret.
create table api_key (
  id text not null,
  type text not null,
  -- The reach of a management key. Null for the keys of wallets.
  scope text,
  user_id text,
  -- The workspace whose accounts a member's key uses. Null for the accounts of the wallet itself.
  workspace_id text,
  -- The organisation of a management key.
  organization_id text,
  organization_role text,
  made_by text,
  hash text not null,
  key_prefix text not null,
  label text not null,
  min_discount_pct smallint,
  providers_blocked text[] not null default '{}'::text[],
  allows_untrusted boolean,
  cap_daily_micro bigint,
  cap_monthly_micro bigint,
  rate_per_minute integer,
  -- The only models that the key may call. Null allows every model.
  models_allowed text[],
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  -- True for the key that the playground of its user pays with. It has a cap of the day, and nobody knows its own
  -- secret.
  is_playground boolean not null default false,
  -- When the owner froze the key. Null for a key that works.
  frozen_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (hash),
  FOREIGN KEY (made_by) REFERENCES app_user(id),
  FOREIGN KEY (organization_id) REFERENCES organization(id),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  FOREIGN KEY (workspace_id) REFERENCES workspace(id),
  constraint api_key_cap_daily_micro_check CHECK (cap_daily_micro > 0),
  constraint api_key_cap_monthly_micro_check CHECK (cap_monthly_micro > 0),
  constraint api_key_frozen CHECK (frozen_at IS NULL OR type = 'buyer'::text),
  constraint api_key_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint api_key_id_check CHECK (id ~ '^key_[0-9A-Za-z_-]{1,64}$'::text),
  constraint api_key_label_check CHECK (length(label) >= 1 AND length(label) <= 200),
  constraint api_key_min_discount_pct_check CHECK (min_discount_pct >= 0 AND min_discount_pct <= 100),
  constraint api_key_organization CHECK (scope IS DISTINCT FROM 'org'::text OR revoked_at IS NOT NULL OR organization_id IS NOT NULL),
  constraint api_key_organization_role CHECK ((organization_id IS NULL) = (organization_role IS NULL)),
  constraint api_key_organization_role_check CHECK (organization_role = ANY (ARRAY['admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])),
  constraint api_key_owner CHECK ((type = 'management'::text) = (user_id IS NULL)),
  constraint api_key_playground_is_capped CHECK (NOT is_playground OR type = 'buyer'::text AND cap_daily_micro IS NOT NULL AND expires_at IS NULL),
  constraint api_key_rate_per_minute_check CHECK (rate_per_minute > 0),
  constraint api_key_scope CHECK ((type = 'management'::text) = (scope IS NOT NULL)),
  constraint api_key_scope_check CHECK (scope = ANY (ARRAY['org'::text, 'operator'::text])),
  constraint api_key_type_check CHECK (type = ANY (ARRAY['buyer'::text, 'seller'::text, 'management'::text])),
  constraint api_key_workspace CHECK (workspace_id IS NULL OR user_id IS NOT NULL)
);
CREATE INDEX api_key_by_organization ON public.api_key USING btree (organization_id, id) WHERE (organization_id IS NOT NULL);
CREATE INDEX api_key_by_prefix ON public.api_key USING btree (key_prefix text_pattern_ops);
CREATE INDEX api_key_by_user ON public.api_key USING btree (user_id, type, id);
CREATE INDEX api_key_by_workspace ON public.api_key USING btree (workspace_id, id) WHERE (workspace_id IS NOT NULL);
CREATE UNIQUE INDEX api_key_one_playground ON public.api_key USING btree (user_id, COALESCE(workspace_id, ''::text)) WHERE (is_playground AND (revoked_at IS NULL));
CREATE TRIGGER api_key_of_open_workspace BEFORE INSERT ON api_key FOR EACH ROW WHEN (new.workspace_id IS NOT NULL) EXECUTE FUNCTION refuse_key_of_closed();
CREATE TRIGGER api_key_stays_revoked BEFORE UPDATE ON api_key FOR EACH ROW EXECUTE FUNCTION keep_revoked();

-- Secrets of a key before its last rotation. Each works beside the new secret until its window ends, as the same key
-- with the same limits.
create table key_former_secret (
  hash text not null,
  key_id text not null,
  key_prefix text not null,
  replaced_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (hash),
  FOREIGN KEY (key_id) REFERENCES api_key(id),
  constraint key_former_secret_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint key_former_secret_window CHECK (expires_at >= replaced_at AND expires_at <= (replaced_at + '7 days'::interval))
);
CREATE INDEX key_former_secret_by_key ON public.key_former_secret USING btree (key_id, expires_at);

-- Further secrets of a key, which sessions opened. They pay for calls and open no account path.
create table key_session_secret (
  -- HMAC-SHA-256 of the secret, in hex.
  hash text not null,
  key_id text not null,
  -- The session that opened it. Null once that has ended.
  session_id text,
  created_at timestamp with time zone not null,
  -- When it ends. Equal to created_at once it was ended early.
  expires_at timestamp with time zone not null,
  PRIMARY KEY (hash),
  FOREIGN KEY (key_id) REFERENCES api_key(id),
  FOREIGN KEY (session_id) REFERENCES web_session(id) ON DELETE SET NULL,
  constraint key_session_secret_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint key_session_secret_window CHECK (expires_at >= created_at AND expires_at <= (created_at + '01:00:00'::interval))
);
CREATE INDEX key_session_secret_by_end ON public.key_session_secret USING btree (expires_at);
CREATE INDEX key_session_secret_by_key ON public.key_session_secret USING btree (key_id);
CREATE INDEX key_session_secret_by_session ON public.key_session_secret USING btree (session_id, created_at) WHERE (session_id IS NOT NULL);

-- The outbox to the key store: keys whose record there is behind. A row is written with the change and removed when
-- the store has it.
create table key_change (
  seq bigint not null generated always as identity,
  key_id text not null,
  PRIMARY KEY (seq),
  FOREIGN KEY (key_id) REFERENCES api_key(id)
);

-- The instant up to which uses of keys have been noted. Calls posted later are found by the next look.
create table key_use_mark (
  id boolean not null default true,
  noted_until timestamp with time zone not null,
  PRIMARY KEY (id),
  constraint key_use_mark_id_check CHECK (id)
);

-- Nonces of wallet sign-ins that were used, until a sign-in with them would be too old anyway.
create table used_nonce (
  nonce text not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (nonce),
  constraint used_nonce_nonce_check CHECK (nonce ~ '^[0-9a-f]{64}$'::text)
);
CREATE INDEX used_nonce_by_end ON public.used_nonce USING btree (expires_at);

-- Sessions of browsers, by the HMAC of their cookie.
create table web_session (
  id text not null,
  hash text not null,
  user_id text,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  key_id text,
  PRIMARY KEY (id),
  UNIQUE (hash),
  FOREIGN KEY (key_id) REFERENCES api_key(id),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint web_session_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint web_session_id_check CHECK (id ~ '^ses_[0-9A-Za-z_-]{1,64}$'::text),
  constraint web_session_of_one CHECK (num_nonnulls(user_id, key_id) = 1)
);
CREATE INDEX web_session_by_end ON public.web_session USING btree (expires_at);
CREATE INDEX web_session_by_key ON public.web_session USING btree (key_id, id) WHERE (key_id IS NOT NULL);
CREATE INDEX web_session_by_user ON public.web_session USING btree (user_id, id);
CREATE TRIGGER web_session_ends_secrets BEFORE DELETE ON web_session FOR EACH ROW EXECUTE FUNCTION end_session_secrets();

-- Codes that sign a browser in with the key that made them. A row goes when its code is redeemed, so each works once.
create table sign_in_code (
  hash text not null,
  key_id text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (hash),
  FOREIGN KEY (key_id) REFERENCES api_key(id),
  constraint sign_in_code_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint sign_in_code_window CHECK (expires_at > created_at AND expires_at <= (created_at + '1 day'::interval))
);
CREATE INDEX sign_in_code_by_end ON public.sign_in_code USING btree (expires_at);
CREATE INDEX sign_in_code_by_key ON public.sign_in_code USING btree (key_id, created_at);

-- Passkeys (WebAuthn credentials) that users sign in with.
create table passkey (
  id text not null,
  user_id text not null,
  -- The id that the authenticator gave, in base64url.
  credential_id text not null,
  -- The public key, as COSE writes it.
  public_key bytea not null,
  -- The signature counter of the last use. It never goes back. 0 is an authenticator without one.
  counter bigint not null,
  label text not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (credential_id),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint passkey_counter_check CHECK (counter >= 0 AND counter <= '4294967295'::bigint),
  constraint passkey_credential_id_check CHECK (credential_id ~ '^[0-9A-Za-z_-]+$'::text AND length(credential_id) <= 1400),
  constraint passkey_id_check CHECK (id ~ '^psk_[0-9A-Za-z_-]{1,64}$'::text),
  constraint passkey_label_check CHECK (length(label) >= 1 AND length(label) <= 200),
  constraint passkey_public_key_check CHECK (length(public_key) >= 1 AND length(public_key) <= 2000)
);
CREATE INDEX passkey_by_user ON public.passkey USING btree (user_id, id);

-- The code with which a user gets in without a passkey. It works once, and its use makes the next one.
create table recovery_code (
  user_id text not null,
  -- HMAC-SHA-256 of the code, in hex.
  hash text not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (user_id),
  UNIQUE (hash),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint recovery_code_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text)
);

-- E-mail addresses that a link has verified. Each signs its user in.
create table email_address (
  id text not null,
  user_id text not null,
  -- In lower case; an international domain in its ASCII form.
  address text not null,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (address),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint email_address_address_check CHECK (length(address) <= 254 AND address = lower(address) AND address ~ '^[!-?A-~]+@[0-9a-z.-]+$'::text),
  constraint email_address_id_check CHECK (id ~ '^eml_[0-9A-Za-z_-]{1,64}$'::text)
);
CREATE INDEX email_address_by_user ON public.email_address USING btree (user_id, id);

-- Links that were sent to an address. A link works once, and its row goes with its use.
create table email_link (
  -- HMAC-SHA-256 of the secret of the link, in hex.
  hash text not null,
  address text not null,
  purpose text not null,
  -- The user who adds the address. Null for a link that signs in.
  user_id text,
  -- HMAC-SHA-256 of the cookie of the browser that asked, in hex.
  browser_hash text not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (hash),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint email_link_address_check CHECK (length(address) <= 254),
  constraint email_link_browser_hash_check CHECK (browser_hash ~ '^[0-9a-f]{64}$'::text),
  constraint email_link_hash_check CHECK (hash ~ '^[0-9a-f]{64}$'::text),
  constraint email_link_purpose_check CHECK (purpose = ANY (ARRAY['sign_in'::text, 'add'::text])),
  constraint email_link_user CHECK ((purpose = 'add'::text) = (user_id IS NOT NULL))
);
CREATE INDEX email_link_by_address ON public.email_link USING btree (address, expires_at);
CREATE INDEX email_link_by_age ON public.email_link USING btree (expires_at);

-- Filters of a screen of the page that a user keeps under a name. Only that user reads them.
create table saved_view (
  id text not null,
  user_id text not null,
  screen text not null,
  name text not null,
  -- The query of the address of the screen: names and values of its filters, without an address.
  query text not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (id),
  UNIQUE (user_id, screen, name),
  FOREIGN KEY (user_id) REFERENCES app_user(id),
  constraint saved_view_id_check CHECK (id ~ '^viw_[0-9A-Za-z_-]{1,64}$'::text),
  constraint saved_view_name_check CHECK (length(name) >= 1 AND length(name) <= 60),
  constraint saved_view_query_check CHECK (length(query) <= 1000),
  constraint saved_view_screen_check CHECK (screen = ANY (ARRAY['models'::text, 'logs'::text, 'activity'::text, 'jobs'::text, 'offers'::text]))
);

-- The allow-list of hosts. Keys of sellers are sent to these hosts only.
create table provider (
  id text not null,
  name text not null,
  base_url text not null,
  host text not null,
  is_trusted boolean not null,
  cost_reference_url text,
  updated_at timestamp with time zone not null,
  -- The endpoints that the host runs. Null stands for every endpoint of its protocol.
  endpoints text[],
  -- Allowed paths beside the path of base_url, without a trailing slash. The empty text is the root.
  base_paths text[] not null default '{}'::text[],
  file_hosts text[] not null default '{}'::text[],
  hosts text[] not null default '{}'::text[],
  PRIMARY KEY (id),
  UNIQUE (host),
  constraint provider_base_paths CHECK (cardinality(base_paths) <= 16),
  constraint provider_base_url_check CHECK (length(base_url) <= 2048),
  constraint provider_endpoints CHECK (cardinality(endpoints) > 0 AND endpoints <@ ARRAY['chat'::text, 'completions'::text, 'embeddings'::text, 'speech'::text, 'transcription'::text, 'image'::text, 'image-edit'::text, 'video'::text, 'music'::text]),
  constraint provider_file_hosts CHECK (cardinality(file_hosts) <= 16),
  constraint provider_hosts CHECK (cardinality(hosts) <= 16),
  constraint provider_id_check CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,63}$'::text),
  constraint provider_name_check CHECK (length(name) >= 1 AND length(name) <= 200)
);

-- Models of the catalogue. `body` describes the model; the other columns are what rows and lists need of it.
create table model (
  id text not null,
  is_sandbox boolean not null,
  body jsonb not null,
  updated_at timestamp with time zone not null,
  PRIMARY KEY (id),
  constraint model_id_check CHECK (length(id) >= 1 AND length(id) <= 128)
);

-- Names of models. An exact name means one model.
create table model_alias (
  alias text not null,
  model text not null,
  -- True for a name that an operator gave by hand. It outlives the next import.
  is_manual boolean not null default false,
  PRIMARY KEY (alias),
  FOREIGN KEY (model) REFERENCES model(id),
  constraint model_alias_alias_check CHECK (alias = lower(alias))
);
CREATE INDEX model_alias_by_model ON public.model_alias USING btree (model);

-- Versions of reference prices. The latest one whose time has come counts.
create table model_price (
  version text not null,
  model text not null,
  effective_at timestamp with time zone not null,
  source text not null,
  -- Pico-USD by usage class, as decimal strings.
  unit_prices jsonb not null,
  -- Prices that count while their conditions hold, the last one first in rank. Each has `when` and `unitPrices`.
  overrides jsonb not null,
  -- The least of a class of usage that a request is billed, where it uses any of it: whole units by class.
  minimums jsonb not null,
  PRIMARY KEY (version),
  FOREIGN KEY (model) REFERENCES model(id)
);
CREATE UNIQUE INDEX model_price_by_model ON public.model_price USING btree (model, effective_at, version);
CREATE TRIGGER model_price_stays BEFORE DELETE OR UPDATE ON model_price FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The log of the catalogue: a row for each field of each model that changed, with the source of the new value.
create table catalog_change (
  id text not null,
  at timestamp with time zone not null,
  -- The time from which the change counts. Only prices may wait.
  effective_at timestamp with time zone not null,
  model text not null,
  -- `added`, a field of the model, or `price.` and a usage class.
  field text not null,
  before jsonb,
  after jsonb,
  source text not null,
  actor text not null,
  PRIMARY KEY (id),
  constraint catalog_change_field_check CHECK (length(field) >= 1 AND length(field) <= 100),
  constraint catalog_change_source_check CHECK (length(source) >= 1 AND length(source) <= 500)
);
CREATE INDEX catalog_change_by_model ON public.catalog_change USING btree (model, id);
CREATE TRIGGER catalog_change_stays BEFORE DELETE OR UPDATE ON catalog_change FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Sealed provider keys of sellers and buyers.
create table credential (
  id text not null,
  -- The account of the owner, the host and the purpose. They are bound into the ciphertext.
  tenant text not null,
  host text not null,
  purpose text not null,
  base_url text not null,
  -- HMAC of host and key. Equal credentials are found by it without opening any.
  fingerprint text not null,
  label text,
  sealed jsonb not null,
  created_at timestamp with time zone not null,
  -- The time at which the seller forgot the key. Offers that use it keep it; new offers cannot use it.
  forgotten_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (tenant, purpose, fingerprint),
  FOREIGN KEY (tenant) REFERENCES account(id),
  constraint credential_fingerprint_check CHECK (fingerprint ~ '^[0-9a-f]{64}$'::text),
  constraint credential_id_check CHECK (id ~ '^crd_[0-9A-Za-z_-]{1,64}$'::text),
  constraint credential_label_check CHECK (length(label) <= 200),
  constraint credential_purpose_check CHECK (purpose = ANY (ARRAY['offer'::text, 'resource'::text, 'own-provider'::text])),
  constraint credential_sealed_for CHECK ((sealed ->> 'id'::text) = id AND (sealed ->> 'tenant'::text) = tenant AND (sealed ->> 'host'::text) = host AND (sealed ->> 'purpose'::text) = purpose)
);

-- Offers of sellers: a model at a provider, for a discount off the reference price.
create table offer (
  id text not null,
  seller_account text not null,
  model text not null,
  provider text not null,
  credential_id text not null,
  -- The fingerprint of the credential, for one index over model, address and key of all sellers.
  fingerprint text not null,
  base_url text not null,
  -- The name of the protocol. The code lists the protocols, so a new protocol needs no migration.
  api_format text not null,
  provider_model text not null,
  pricing_mode text not null,
  kept_bps smallint not null,
  cap_daily_micro bigint,
  payout_address text,
  label text,
  status text not null,
  -- The operator's reason. An offer with a reason is never active.
  delisted_reason text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  -- The time at which the payout address was set. Null for an address of the first listing. A new address is not paid
  -- for some time, so that the owner of a stolen key hears of it first.
  payout_address_since timestamp with time zone,
  -- Members of requests that the seller allows: `unknown`, and surcharges by their names.
  passes text[] not null default '{}'::text[],
  -- Endpoints of the model that the provider refused in a test call. The offer is not sold on them.
  without_endpoints text[] not null default '{}'::text[],
  -- Cost of all test calls at the list price, in micro-USD. Null where the cost of one is unknown.
  probe_cost_micro bigint,
  PRIMARY KEY (id),
  FOREIGN KEY (credential_id) REFERENCES credential(id),
  FOREIGN KEY (model) REFERENCES model(id),
  FOREIGN KEY (provider) REFERENCES provider(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint offer_api_format_check CHECK (api_format ~ '^[a-z][a-z0-9-]{0,39}$'::text),
  constraint offer_cap_daily_micro_check CHECK (cap_daily_micro > 0),
  constraint offer_delisted_is_off CHECK (delisted_reason IS NULL OR status <> 'active'::text),
  constraint offer_id_check CHECK (id ~ '^ofr_[0-9A-Za-z_-]{1,64}$'::text),
  constraint offer_kept_bps_check CHECK (kept_bps >= 0 AND kept_bps <= 10000),
  constraint offer_label_check CHECK (length(label) <= 200),
  constraint offer_passes_check CHECK (cardinality(passes) <= 40),
  constraint offer_payout_address_check CHECK (payout_address ~ '^0x[0-9a-f]{40}$'::text),
  constraint offer_pricing_mode_check CHECK (pricing_mode = ANY (ARRAY['discount'::text, 'cost_multiplier'::text])),
  constraint offer_probe_cost_micro_check CHECK (probe_cost_micro >= 0),
  constraint offer_provider_model_check CHECK (length(provider_model) >= 1 AND length(provider_model) <= 200),
  constraint offer_status_check CHECK (status = ANY (ARRAY['active'::text, 'paused'::text, 'inactive'::text])),
  constraint offer_without_endpoints CHECK (cardinality(without_endpoints) <= 40)
);
CREATE INDEX offer_by_credential ON public.offer USING btree (credential_id, status);
CREATE INDEX offer_by_payout_address ON public.offer USING btree (payout_address) WHERE (payout_address IS NOT NULL);
CREATE INDEX offer_by_seller ON public.offer USING btree (seller_account, id);
CREATE INDEX offer_on_sale ON public.offer USING btree (model, id) WHERE (status = 'active'::text);
CREATE INDEX offer_on_sale_by_place ON public.offer USING btree (model, provider) WHERE (status = 'active'::text);
CREATE UNIQUE INDEX offer_one_active_per_credential ON public.offer USING btree (fingerprint, base_url, model) WHERE (status = 'active'::text);
CREATE TRIGGER offer_back_in_open_workspace BEFORE UPDATE OF status ON offer FOR EACH ROW WHEN (old.status = 'inactive'::text AND new.status <> 'inactive'::text) EXECUTE FUNCTION refuse_offer_of_closed();
CREATE TRIGGER offer_cap_noted AFTER UPDATE OF cap_daily_micro ON offer FOR EACH ROW WHEN (old.cap_daily_micro IS DISTINCT FROM new.cap_daily_micro) EXECUTE FUNCTION note_cap_change();
CREATE TRIGGER offer_of_open_workspace BEFORE INSERT ON offer FOR EACH ROW WHEN (new.status <> 'inactive'::text) EXECUTE FUNCTION refuse_offer_of_closed();

-- Former caps of offers. Calls taken under a higher cap earlier today do not breach a lower one.
create table offer_cap_change (
  id bigint not null generated always as identity,
  offer text not null,
  -- The cap before the change, in micro-USD. Null for none.
  cap_daily_micro bigint,
  at timestamp with time zone not null default now(),
  PRIMARY KEY (id)
);
CREATE INDEX offer_cap_change_by_offer ON public.offer_cap_change USING btree (offer, at);

-- The next probe of a saved key at its address. One probe covers every offer with that key.
create table offer_probe (
  credential_id text not null,
  base_url text not null,
  next_at timestamp with time zone not null,
  failures integer not null default 0,
  last_at timestamp with time zone,
  PRIMARY KEY (credential_id, base_url),
  FOREIGN KEY (credential_id) REFERENCES credential(id) ON DELETE CASCADE,
  constraint offer_probe_failures_check CHECK (failures >= 0)
);
CREATE INDEX offer_probe_due ON public.offer_probe USING btree (next_at);

-- Access tokens of credentials that are accounts. An account without a good token is not called with.
create table credential_token (
  credential_id text not null,
  -- The token, sealed for the tenant and the host of its credential. Null before the first one.
  sealed jsonb,
  expires_at timestamp with time zone,
  -- The time of the next making. A worker that makes a token puts it off first.
  next_at timestamp with time zone not null,
  -- Makings in a row that have failed.
  failures integer not null default 0,
  -- Why the last making failed. Null where it did not.
  failure text,
  -- The last time when a refusal by the provider brought the next making forward.
  forwarded_at timestamp with time zone,
  PRIMARY KEY (credential_id),
  FOREIGN KEY (credential_id) REFERENCES credential(id) ON DELETE CASCADE,
  constraint credential_token_check CHECK ((sealed IS NULL) = (expires_at IS NULL)),
  constraint credential_token_failure_check CHECK (length(failure) >= 1 AND length(failure) <= 200),
  constraint credential_token_failures_check CHECK (failures >= 0)
);
CREATE INDEX credential_token_due ON public.credential_token USING btree (next_at);

-- Work of a seller that goes on after its answer. The rows are the truth; a queue only wakes the worker.
create table seller_operation (
  id text not null,
  seller_account text not null,
  kind text not null,
  status text not null,
  total integer not null,
  processed integer not null default 0,
  failed_count integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  PRIMARY KEY (id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint seller_operation_counts CHECK (0 <= failed_count AND failed_count <= processed AND processed <= total),
  constraint seller_operation_id_check CHECK (id ~ '^opn_[0-9A-Za-z_-]{1,64}$'::text),
  constraint seller_operation_kind_check CHECK (kind = 'bulk_cancel'::text),
  constraint seller_operation_status_check CHECK (status = ANY (ARRAY['pending'::text, 'running'::text, 'succeeded'::text, 'failed'::text])),
  constraint seller_operation_total_check CHECK (total >= 0)
);
CREATE INDEX seller_operation_open ON public.seller_operation USING btree (id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));

-- The parts of a seller's operation with their outcomes.
create table seller_operation_item (
  operation text not null,
  offer text not null,
  done_at timestamp with time zone,
  PRIMARY KEY (operation, offer),
  FOREIGN KEY (offer) REFERENCES offer(id),
  FOREIGN KEY (operation) REFERENCES seller_operation(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX seller_operation_item_once ON public.seller_operation_item USING btree (offer) WHERE (done_at IS NULL);

-- The default wants of a buyer for every call.
create table buyer_preference (
  account text not null,
  allows_untrusted boolean not null,
  providers_blocked text[] not null,
  min_discount_pct smallint,
  updated_at timestamp with time zone not null,
  PRIMARY KEY (account),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint buyer_preference_min_discount_pct_check CHECK (min_discount_pct >= 0 AND min_discount_pct <= 100)
);

-- Provider keys of buyers for their own calls.
create table own_provider (
  id text not null,
  account text not null,
  provider text not null,
  credential_id text not null,
  -- The model that the key serves before the market does. Null serves every model, after the market.
  model text,
  provider_model text,
  base_url text not null,
  -- The name of the protocol. The code lists the protocols, so a new protocol needs no migration.
  api_format text not null,
  priority integer not null,
  label text,
  created_at timestamp with time zone not null,
  PRIMARY KEY (id),
  FOREIGN KEY (account) REFERENCES account(id),
  FOREIGN KEY (credential_id) REFERENCES credential(id),
  FOREIGN KEY (model) REFERENCES model(id),
  FOREIGN KEY (provider) REFERENCES provider(id),
  constraint own_provider_api_format_check CHECK (api_format ~ '^[a-z][a-z0-9-]{0,39}$'::text),
  constraint own_provider_id_check CHECK (id ~ '^prv_[0-9A-Za-z_-]{1,64}$'::text),
  constraint own_provider_label_check CHECK (length(label) <= 200),
  constraint own_provider_priority_check CHECK (priority >= 0 AND priority <= 1000),
  constraint own_provider_provider_model_check CHECK (length(provider_model) >= 1 AND length(provider_model) <= 200)
);
CREATE INDEX own_provider_by_account ON public.own_provider USING btree (account, priority, id);
CREATE INDEX own_provider_by_credential ON public.own_provider USING btree (credential_id);

-- Changes in the health of offers, as told by the data plane, probes, sellers and operators. A lost row is
-- acceptable.
create table health_log (
  id text not null,
  at timestamp with time zone not null,
  node text not null,
  offer text not null,
  -- Null for an offer that was unknown when the event came.
  seller_account text,
  model text not null,
  rid text,
  error_class text,
  status_code integer,
  detail text not null,
  action text not null,
  backed_off_until timestamp with time zone,
  stored_at timestamp with time zone not null default now(),
  PRIMARY KEY (id),
  constraint health_log_action_check CHECK (action = ANY (ARRAY['counted'::text, 'backed_off'::text, 'recovered'::text, 'flagged'::text, 'reset'::text, 'credential_rotated'::text, 'delisted'::text, 'restored'::text])),
  constraint health_log_detail_check CHECK (length(detail) <= 300),
  constraint health_log_id_check CHECK (id ~ '^hlt_[0-9A-Za-z_-]{1,64}$'::text)
);
CREATE INDEX health_log_by_age ON public.health_log USING btree (at);
CREATE INDEX health_log_by_change ON public.health_log USING btree (at) WHERE (action = ANY (ARRAY['backed_off'::text, 'recovered'::text, 'reset'::text, 'credential_rotated'::text, 'delisted'::text]));
CREATE INDEX health_log_by_offer ON public.health_log USING btree (offer, at, id);
CREATE INDEX health_log_by_seller ON public.health_log USING btree (seller_account, at, id);
CREATE INDEX health_log_by_storing ON public.health_log USING brin (stored_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX health_log_of_back_offs ON public.health_log USING btree (at) WHERE (action = 'backed_off'::text);

-- Transactions of the ledger. A transaction never changes.
create table ledger_tx (
  id text not null,
  kind text not null,
  note text,
  at timestamp with time zone not null default now(),
  PRIMARY KEY (id),
  constraint ledger_tx_id_check CHECK (id ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'::text),
  constraint ledger_tx_kind_check CHECK (kind ~ '^[a-z][a-z_]{1,31}$'::text),
  constraint ledger_tx_note_check CHECK (length(note) <= 500)
) partition by RANGE (id);
CREATE INDEX ledger_tx_by_kind ON ONLY public.ledger_tx USING btree (kind, at, id) WHERE (kind <> 'settle'::text);
CREATE INDEX ledger_tx_by_time ON ONLY public.ledger_tx USING btree (at, id);
CREATE TRIGGER ledger_tx_kept BEFORE DELETE OR UPDATE ON ledger_tx FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_tx_not_truncated BEFORE TRUNCATE ON ledger_tx FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Unique keys of transactions that are no calls: `deposit:…`, `grant:{ticket}`, `payout:{id}`. A key makes its
-- transaction happen once.
create table ledger_key (
  key text not null,
  tx text not null,
  PRIMARY KEY (key),
  UNIQUE (tx),
  constraint ledger_key_key_check CHECK (length(key) >= 3 AND length(key) <= 200)
);
CREATE TRIGGER ledger_key_kept BEFORE DELETE OR UPDATE ON ledger_key FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_key_not_truncated BEFORE TRUNCATE ON ledger_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Entries of transactions, one for each account. The entries of a transaction come in one statement and sum to zero.
create table ledger_entry (
  tx text not null,
  account text not null,
  amount bigint not null,
  PRIMARY KEY (tx, account),
  constraint ledger_entry_amount_check CHECK (amount <> 0)
) partition by RANGE (tx);
CREATE INDEX ledger_entry_by_account ON ONLY public.ledger_entry USING btree (account, tx) INCLUDE (amount);
CREATE TRIGGER ledger_entry_checked AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS entries FOR EACH STATEMENT EXECUTE FUNCTION check_entries();
CREATE TRIGGER ledger_entry_kept BEFORE DELETE OR UPDATE ON ledger_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entry_not_truncated BEFORE TRUNCATE ON ledger_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Debits that no call made: refunds, withdrawals, adjustments. They are stored before the gate sets their money
-- aside, so that the next process can finish a debit whose process died.
create table ledger_debit (
  -- The ledger key of the transaction.
  key text not null,
  -- The buyer account that pays.
  account text not null,
  amount bigint not null,
  -- The transaction to book.
  tx text not null,
  kind text not null,
  note text,
  entries jsonb not null,
  state text not null default 'intended'::text,
  -- The number of the hold in the gate. A hold that ended cannot be taken again: the next hold has the next number.
  hold_number integer not null default 1,
  -- True once the hold of a finished debit is given back.
  is_freed boolean not null default false,
  intended_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  audit jsonb not null,
  PRIMARY KEY (key),
  UNIQUE (tx),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint ledger_debit_amount_check CHECK (amount > 0),
  constraint ledger_debit_hold_number_check CHECK (hold_number > 0),
  constraint ledger_debit_key_check CHECK (length(key) >= 3 AND length(key) <= 180),
  constraint ledger_debit_state_check CHECK (state = ANY (ARRAY['intended'::text, 'posted'::text, 'refused'::text]))
);
CREATE INDEX ledger_debit_unfinished ON public.ledger_debit USING btree (changed_at) WHERE ((state = 'intended'::text) OR (NOT is_freed));
CREATE TRIGGER ledger_debit_keeps BEFORE UPDATE ON ledger_debit FOR EACH ROW EXECUTE FUNCTION keep_debit();
CREATE TRIGGER ledger_debit_kept BEFORE DELETE ON ledger_debit FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The epoch of the spending gate. Every loss of the gate begins a new one.
create table money_epoch (
  is_only boolean not null default true,
  epoch bigint not null,
  -- The epoch up to which unposted captures of older epochs were taken over from Redis.
  harvested bigint not null default 0,
  raised_at timestamp with time zone not null default now(),
  -- A counter that rises once a second while a worker leads. The gate has the newest value, so a lower one here shows
  -- that the ledger went back.
  beat bigint not null default 0,
  beat_at timestamp with time zone not null default now(),
  -- The cluster that was seen last. Null before the first look.
  system_id text,
  timeline integer,
  -- The instant to which the ledger went back.
  restored_to timestamp with time zone,
  restored_at timestamp with time zone,
  -- The beginning of a hold of all money that leaves, set by the statement that records the step back. Null while
  -- money may leave.
  held_at timestamp with time zone,
  -- The time at which the nodes had registered their captures again.
  joined_at timestamp with time zone,
  PRIMARY KEY (is_only),
  constraint money_epoch_beat_check CHECK (beat >= 0),
  constraint money_epoch_check CHECK (harvested <= epoch),
  constraint money_epoch_epoch_check CHECK (epoch >= 0),
  constraint money_epoch_identity CHECK ((system_id IS NULL) = (timeline IS NULL)),
  constraint money_epoch_is_only_check CHECK (is_only),
  constraint money_epoch_joined CHECK (joined_at IS NULL OR held_at IS NOT NULL),
  constraint money_epoch_restored CHECK ((restored_to IS NULL) = (restored_at IS NULL)),
  constraint money_epoch_system_id_check CHECK (length(system_id) >= 1 AND length(system_id) <= 40),
  constraint money_epoch_timeline_check CHECK (timeline > 0)
);
CREATE TRIGGER money_epoch_rises BEFORE UPDATE ON money_epoch FOR EACH ROW EXECUTE FUNCTION keep_epoch_rising();

-- Data-plane processes that must bring their calls into a new epoch.
create table node (
  id text not null,
  first_seen_at timestamp with time zone not null default now(),
  last_seen_at timestamp with time zone not null default now(),
  -- The time at which the process ended with nothing left to settle, or an operator retired it.
  retired_at timestamp with time zone,
  PRIMARY KEY (id),
  constraint node_id_check CHECK (length(id) >= 1 AND length(id) <= 200)
);

-- Admitted calls: usage, cost and the offer that served. The primary key makes a call post once. A row never changes;
-- later facts about a call have tables of their own.
create table settlement (
  rid text not null,
  account text not null,
  key_id text,
  seller_account text,
  offer text,
  provider text,
  model text not null,
  requested_model text not null,
  wire text not null,
  endpoint text not null,
  rail text not null,
  served_by text,
  node text not null,
  is_streamed boolean not null,
  outcome text not null,
  error_code text,
  finish_reason text,
  hold_amount bigint not null,
  charge bigint not null,
  list_cost bigint not null,
  seller_net bigint not null,
  fee bigint not null,
  fee_bps smallint not null,
  kept_bps smallint not null,
  price_version text not null,
  usage_source text not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_input_tokens bigint not null,
  audio_output_tokens bigint not null,
  characters bigint not null,
  images bigint not null,
  pixels bigint not null,
  milliseconds bigint not null,
  calls bigint not null,
  ttft_ms integer,
  stream_ms integer,
  duration_ms integer not null,
  overhead_ms real not null,
  attempts jsonb not null,
  explanation jsonb,
  anomalies text[] not null,
  -- SHA-256 of the event. It tells a repeat of a call from another call.
  payload_hash text not null,
  started_at timestamp with time zone not null,
  captured_at timestamp with time zone not null,
  posted_at timestamp with time zone not null default now(),
  -- A part of the input tokens.
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0,
  -- A part of the images, with a price of its own.
  images_2k bigint not null default 0,
  images_4k bigint not null default 0,
  milliseconds_1080p bigint not null default 0,
  milliseconds_4k bigint not null default 0,
  -- The kind, resource, good and route of a forwarded call. Null for a call of a model.
  sold jsonb,
  -- The conditions of the price list that held for the call, in words.
  price_conditions text[] not null default '{}'::text[],
  -- Web searches that the provider billed.
  searches bigint not null default 0,
  -- Cost by the provider's own account, in pico-USD. Null where its answer has none.
  own_cost_pico bigint,
  -- The part of cache_write_tokens that lasts an hour or longer.
  cache_write_long_tokens bigint not null default 0,
  PRIMARY KEY (rid),
  constraint settlement_audio_input_tokens_check CHECK (audio_input_tokens >= 0),
  constraint settlement_audio_output_tokens_check CHECK (audio_output_tokens >= 0),
  constraint settlement_cache_read_tokens_check CHECK (cache_read_tokens >= 0),
  constraint settlement_cache_write_long_tokens_check CHECK (cache_write_long_tokens >= 0),
  constraint settlement_cache_write_tokens_check CHECK (cache_write_tokens >= 0),
  constraint settlement_calls_check CHECK (calls >= 0),
  constraint settlement_characters_check CHECK (characters >= 0),
  constraint settlement_charge_check CHECK (charge >= 0),
  constraint settlement_duration_ms_check CHECK (duration_ms >= 0),
  constraint settlement_fee_bps_check CHECK (fee_bps >= 0 AND fee_bps <= 10000),
  constraint settlement_fee_check CHECK (fee >= 0),
  constraint settlement_hold_amount_check CHECK (hold_amount >= 0),
  constraint settlement_image_input_tokens_check CHECK (image_input_tokens >= 0),
  constraint settlement_image_output_tokens_check CHECK (image_output_tokens >= 0),
  constraint settlement_images_2k_check CHECK (images_2k >= 0),
  constraint settlement_images_4k_check CHECK (images_4k >= 0),
  constraint settlement_images_check CHECK (images >= 0),
  constraint settlement_input_tokens_check CHECK (input_tokens >= 0),
  constraint settlement_kept_bps_check CHECK (kept_bps >= 0 AND kept_bps <= 10000),
  constraint settlement_list_cost_check CHECK (list_cost >= 0),
  constraint settlement_milliseconds_1080p_check CHECK (milliseconds_1080p >= 0),
  constraint settlement_milliseconds_4k_check CHECK (milliseconds_4k >= 0),
  constraint settlement_milliseconds_check CHECK (milliseconds >= 0),
  constraint settlement_outcome_check CHECK (outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cut'::text, 'cancelled'::text])),
  constraint settlement_output_tokens_check CHECK (output_tokens >= 0),
  constraint settlement_own_cost_pico_check CHECK (own_cost_pico >= 0),
  constraint settlement_payload_hash_check CHECK (length(payload_hash) = 64),
  constraint settlement_pixels_check CHECK (pixels >= 0),
  constraint settlement_reasoning_tokens_check CHECK (reasoning_tokens >= 0),
  constraint settlement_rid_check CHECK (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'::text),
  constraint settlement_searches_check CHECK (searches >= 0),
  constraint settlement_seller_known CHECK (charge = 0 OR seller_account IS NOT NULL),
  constraint settlement_seller_net_check CHECK (seller_net >= 0),
  constraint settlement_sold_check CHECK (sold ? 'kind'::text AND sold ? 'id'::text),
  constraint settlement_split_exact CHECK ((seller_net + fee) = charge),
  constraint settlement_split_floored CHECK (seller_net = (charge * (10000 - fee_bps) / 10000)),
  constraint settlement_usage_source_check CHECK (usage_source = ANY (ARRAY['reported'::text, 'estimated'::text])),
  constraint settlement_within_hold CHECK (charge <= hold_amount)
) partition by RANGE (rid);
CREATE INDEX settlement_by_account ON ONLY public.settlement USING btree (account, rid) INCLUDE (started_at, model, key_id, provider, endpoint, outcome, served_by, charge, list_cost, input_tokens, cache_read_tokens, cache_write_tokens, audio_input_tokens, output_tokens, reasoning_tokens, audio_output_tokens);
CREATE INDEX settlement_by_key ON ONLY public.settlement USING btree (key_id, rid) WHERE (key_id IS NOT NULL);
CREATE INDEX settlement_by_posting ON ONLY public.settlement USING brin (posted_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX settlement_by_seller ON ONLY public.settlement USING btree (seller_account, rid) WHERE (seller_account IS NOT NULL);
CREATE INDEX settlement_failed_by_account ON ONLY public.settlement USING btree (account, rid) WHERE ((provider IS NULL) AND (outcome = 'failed'::text));
CREATE INDEX settlement_media_by_account ON ONLY public.settlement USING btree (account, rid) INCLUDE (started_at, model, key_id, provider, endpoint, outcome, served_by, characters, images, images_2k, images_4k, pixels, milliseconds, milliseconds_1080p, milliseconds_4k, calls, image_input_tokens, image_output_tokens) WHERE (((((((characters + images) + pixels) + milliseconds) + calls) + image_input_tokens) + image_output_tokens) > 0);
CREATE INDEX settlement_sold ON ONLY public.settlement USING btree (rid) WHERE (sold IS NOT NULL);
CREATE TRIGGER settlement_kept BEFORE DELETE OR UPDATE ON settlement FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlement_late AFTER INSERT ON settlement REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_late_usage();
CREATE TRIGGER settlement_not_truncated BEFORE TRUNCATE ON settlement FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Events that contradict a settlement. The first event stands; a person looks at these.
create table usage_conflict (
  rid text not null,
  payload_hash text not null,
  event text not null,
  source text not null,
  seen_at timestamp with time zone not null default now(),
  -- Null until a person resolved it.
  resolution_reason text,
  resolved_by text,
  resolved_at timestamp with time zone,
  PRIMARY KEY (rid, payload_hash),
  constraint usage_conflict_resolution_reason_check CHECK (length(resolution_reason) <= 500),
  constraint usage_conflict_resolved_whole CHECK ((resolution_reason IS NULL) = (resolved_at IS NULL) AND (resolution_reason IS NULL) = (resolved_by IS NULL))
);
CREATE INDEX usage_conflict_waiting ON public.usage_conflict USING btree (seen_at) WHERE (resolved_at IS NULL);

-- Events that cannot be posted. Their money stays reserved until a person decides.
create table usage_poison (
  payload_hash text not null,
  rid text,
  reason text not null,
  detail text not null,
  event text not null,
  source text not null,
  first_seen_at timestamp with time zone not null default now(),
  last_seen_at timestamp with time zone not null default now(),
  times_seen integer not null default 1,
  -- Null until a person decided.
  resolution text,
  resolution_reason text,
  resolved_by text,
  resolved_at timestamp with time zone,
  PRIMARY KEY (payload_hash),
  constraint usage_poison_resolution_check CHECK (resolution = ANY (ARRAY['retried'::text, 'discarded'::text])),
  constraint usage_poison_resolution_reason_check CHECK (length(resolution_reason) <= 500),
  constraint usage_poison_resolved_whole CHECK ((resolution IS NULL) = (resolved_at IS NULL) AND (resolution IS NULL) = (resolved_by IS NULL))
);
CREATE INDEX usage_poison_waiting ON public.usage_poison USING btree (first_seen_at) WHERE (resolution IS NULL);

-- Postings that took from the platform's shortfall, with the fault that explains them.
create table shortfall_note (
  tx text not null,
  reason text not null,
  noted_by text not null,
  noted_at timestamp with time zone not null default now(),
  PRIMARY KEY (tx),
  constraint shortfall_note_reason_check CHECK (length(reason) >= 1 AND length(reason) <= 500)
);

-- Long jobs. The submit moves the whole quote to escrow; the end splits it to the seller, the fee and the buyer's
-- rest.
create table job (
  -- The request id of the submit. The job's transaction and its settlement have the same id.
  rid text not null,
  account text not null,
  seller_account text,
  escrow_account text not null,
  offer text,
  key_id text,
  provider_job text not null,
  quote bigint not null,
  -- The part of the quote that the buyer's balance covered. The rest stands against the shortfall and goes back there
  -- first.
  paid bigint not null,
  -- The captured submit.
  event text not null,
  payload_hash text not null,
  deadline_at timestamp with time zone not null,
  posted_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  -- The provider that runs the job. Questions to one provider are counted together.
  provider text not null default ''::text,
  -- The time of the next question to the provider. While a worker asks, the time at which another worker may ask in
  -- its place.
  poll_at timestamp with time zone not null default now(),
  -- The worker that asks now.
  asker text,
  polls integer not null default 0,
  unknown_polls integer not null default 0,
  artifacts integer,
  told_at timestamp with time zone,
  -- The time at which the buyer stopped the job.
  stopped_at timestamp with time zone,
  deleted_at timestamp with time zone,
  -- The sealed answer about the end, because addresses in it may open files. Empty once the buyer deleted the job.
  -- Null before the end, and when nobody may ask any more.
  shown text,
  PRIMARY KEY (rid),
  FOREIGN KEY (account) REFERENCES account(id),
  FOREIGN KEY (escrow_account) REFERENCES account(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint job_artifacts_check CHECK (artifacts >= 0),
  constraint job_check CHECK (paid >= 0 AND paid <= quote),
  constraint job_payload_hash_check CHECK (length(payload_hash) = 64),
  constraint job_polls_check CHECK (polls >= 0),
  constraint job_quote_check CHECK (quote >= 0),
  constraint job_rid_check CHECK (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'::text),
  constraint job_unknown_polls_check CHECK (unknown_polls >= 0)
);
CREATE INDEX job_asked ON public.job USING btree (provider) WHERE ((ended_at IS NULL) AND (asker IS NOT NULL));
CREATE INDEX job_by_account ON public.job USING btree (account, rid);
CREATE INDEX job_by_key ON public.job USING btree (key_id, rid) WHERE (key_id IS NOT NULL);
CREATE INDEX job_escrowed ON public.job USING btree (escrow_account) WHERE (ended_at IS NULL);
CREATE INDEX job_kept ON public.job USING btree (rid) WHERE ((shown IS NOT NULL) OR (told_at IS NULL));
CREATE INDEX job_polled ON public.job USING btree (provider, poll_at) WHERE (ended_at IS NULL);
CREATE INDEX job_running_by_account ON public.job USING btree (account, rid) WHERE (ended_at IS NULL);
CREATE INDEX job_untold ON public.job USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (told_at IS NULL));
CREATE TRIGGER job_keeps BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION keep_job();
CREATE TRIGGER job_kept BEFORE DELETE ON job FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The inbox of ends of jobs. An end that comes before its submit waits here.
create table job_end (
  rid text not null,
  event text not null,
  payload_hash text not null,
  source text not null,
  received_at timestamp with time zone not null default now(),
  booked_at timestamp with time zone,
  PRIMARY KEY (rid),
  constraint job_end_payload_hash_check CHECK (length(payload_hash) = 64)
);
CREATE INDEX job_end_parked ON public.job_end USING btree (received_at) WHERE (booked_at IS NULL);
CREATE TRIGGER job_end_kept BEFORE DELETE ON job_end FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Sums of a buyer's calls by day.
create table buyer_day (
  account text not null,
  day date not null,
  -- The day on which the calls began. It differs from the day of the row for calls around midnight only.
  started_on date not null,
  model text not null,
  key_id text,
  provider text,
  endpoint text not null,
  outcome text not null,
  served_by text,
  requests bigint not null,
  charge bigint not null,
  list_cost bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  audio_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_output_tokens bigint not null,
  characters bigint not null default 0,
  images bigint not null default 0,
  images_2k bigint not null default 0,
  images_4k bigint not null default 0,
  pixels bigint not null default 0,
  milliseconds bigint not null default 0,
  milliseconds_1080p bigint not null default 0,
  milliseconds_4k bigint not null default 0,
  calls bigint not null default 0,
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0
);
CREATE INDEX buyer_day_by_account ON public.buyer_day USING btree (account, day);
CREATE INDEX buyer_day_by_day ON public.buyer_day USING btree (day);

-- Sums of a buyer's calls by hour, without models and keys, so that a month has hundreds of rows however many calls
-- it had.
create table buyer_hour (
  account text not null,
  -- The UTC day of the request ids.
  day date not null,
  -- The UTC hour in which the calls began.
  hour timestamp with time zone not null,
  provider text,
  endpoint text not null,
  outcome text not null,
  served_by text,
  requests bigint not null,
  charge bigint not null,
  list_cost bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  audio_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_output_tokens bigint not null,
  characters bigint not null default 0,
  images bigint not null default 0,
  images_2k bigint not null default 0,
  images_4k bigint not null default 0,
  pixels bigint not null default 0,
  milliseconds bigint not null default 0,
  milliseconds_1080p bigint not null default 0,
  milliseconds_4k bigint not null default 0,
  calls bigint not null default 0,
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0
);
CREATE INDEX buyer_hour_by_account ON public.buyer_hour USING btree (account, day);
CREATE INDEX buyer_hour_by_day ON public.buyer_hour USING btree (day);

-- Sums of a seller's calls by day: calls that were paid, or served for nothing.
create table seller_day (
  account text not null,
  day date not null,
  started_on date not null,
  model text not null,
  requests bigint not null,
  earned bigint not null,
  -- Includes cached tokens.
  input_tokens bigint not null,
  output_tokens bigint not null,
  last_rid text not null,
  characters bigint not null default 0,
  images bigint not null default 0,
  images_2k bigint not null default 0,
  images_4k bigint not null default 0,
  pixels bigint not null default 0,
  milliseconds bigint not null default 0,
  milliseconds_1080p bigint not null default 0,
  milliseconds_4k bigint not null default 0,
  calls bigint not null default 0,
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0,
  -- What buyers paid, in micro-USD. Null in days that were archived before the column was there.
  charge bigint
);
CREATE INDEX seller_day_by_account ON public.seller_day USING btree (account, day);
CREATE INDEX seller_day_by_day ON public.seller_day USING btree (day);

-- The progress of daily sums: every day before is summed. Null before the first turn.
create table usage_summed (
  only_one boolean not null default true,
  before date,
  -- The next day to compare with its settlements.
  compared_next date,
  PRIMARY KEY (only_one),
  constraint usage_summed_only_one_check CHECK (only_one)
);

-- Accounts with calls that were booked after their day was summed. Their sums do not count until the day is summed
-- again.
create table usage_late (
  id bigint not null generated always as identity,
  account text not null,
  day date not null,
  PRIMARY KEY (id)
);
CREATE INDEX usage_late_by_account ON public.usage_late USING btree (account, day);

-- Months past their retention. They are detached from the partitioned tables and refuse every change; no table takes
-- a row with an id below `archive_floor()`.
create table archived_month (
  -- The first day of the UTC month.
  month date not null,
  -- The smallest id after the month.
  ends_before text not null,
  settlements bigint not null,
  charged numeric not null,
  entries bigint not null,
  archived_at timestamp with time zone not null default now(),
  PRIMARY KEY (month),
  constraint archived_month_month_check CHECK (EXTRACT(day FROM month) = 1::numeric)
);
CREATE TRIGGER archived_month_kept BEFORE DELETE OR UPDATE ON archived_month FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER archived_month_summed BEFORE INSERT ON archived_month FOR EACH ROW EXECUTE FUNCTION sum_before_archive();

-- The sums of an account's entries in archived months.
create table carried_total (
  month date not null,
  account text not null,
  -- The sum of the entries in the month, in micro-USD.
  amount bigint not null,
  entries bigint not null,
  PRIMARY KEY (account, month),
  FOREIGN KEY (month) REFERENCES archived_month(month),
  constraint carried_total_entries_check CHECK (entries > 0)
);
CREATE TRIGGER carried_total_kept BEFORE DELETE OR UPDATE ON carried_total FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Transactions of present and archived months.
create view every_ledger_tx as
SELECT id,
    kind,
    note,
    at
   FROM ledger_tx;

-- Entries of present and archived months.
create view every_ledger_entry as
SELECT tx,
    account,
    amount
   FROM ledger_entry;

-- Settlements of present and archived months.
create view every_settlement as
SELECT rid,
    account,
    key_id,
    seller_account,
    hold_amount,
    charge,
    seller_net,
    fee,
    fee_bps,
    outcome,
    endpoint,
    output_tokens,
    reasoning_tokens,
    audio_output_tokens,
    payload_hash,
    posted_at,
    offer
   FROM settlement;

-- The progress of the market's sums over settlements and health events, by the clock of this database.
create table market_watermark (
  only_one boolean not null default true,
  -- The progress of hours.
  looked_at timestamp with time zone not null,
  -- The progress of incidents. Null before the first look.
  incidents_looked_at timestamp with time zone,
  PRIMARY KEY (only_one),
  constraint market_watermark_only_one_check CHECK (only_one)
);

-- Hours and days to compute again. Hours come first.
create table market_due (
  grain text not null,
  starts_at timestamp with time zone not null,
  since timestamp with time zone not null default now(),
  PRIMARY KEY (grain, starts_at),
  constraint market_due_grain_check CHECK (grain = ANY (ARRAY['hour'::text, 'day'::text]))
);

-- Figures of a model at a provider in an hour.
create table market_hour (
  starts_at timestamp with time zone not null,
  model text not null,
  provider text not null,
  calls bigint not null,
  -- Calls that succeeded or that the buyer left. Calls that failed by a buyer's own mistake are in no figure.
  answered bigint not null,
  unanswered bigint not null,
  -- Calls that were paid for.
  trades bigint not null,
  volume_micro bigint not null,
  list_micro bigint not null,
  -- The lowest share of the reference price that a buyer paid, in basis points.
  min_kept_bps smallint,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  output_tokens bigint not null,
  -- Tries at the provider that it answered.
  attempts_good bigint not null,
  attempts_bad bigint not null,
  down_ms bigint not null,
  offers integer not null,
  -- Sketches of milliseconds to the first token of streams.
  ttft_samples bigint not null,
  ttft_sketch bytea not null,
  tps_samples bigint not null,
  tps_sketch bytea not null,
  -- The median beside its sketch, so that a series need not read sketches.
  ttft_p50_ms double precision,
  tps_p50 double precision,
  -- Images, pixels, characters and milliseconds, in this order. Null where only tokens were used.
  media double precision[],
  PRIMARY KEY (starts_at, model, provider),
  constraint market_hour_media_check CHECK (cardinality(media) = 4)
);
CREATE INDEX market_hour_by_model ON public.market_hour USING btree (model, starts_at);

-- Figures of a model at a provider in a day, computed from hours.
create table market_day (
  starts_at timestamp with time zone not null,
  model text not null,
  provider text not null,
  calls bigint not null,
  answered bigint not null,
  unanswered bigint not null,
  trades bigint not null,
  volume_micro bigint not null,
  list_micro bigint not null,
  min_kept_bps smallint,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  output_tokens bigint not null,
  attempts_good bigint not null,
  attempts_bad bigint not null,
  down_ms bigint not null,
  offers integer not null,
  ttft_samples bigint not null,
  ttft_sketch bytea not null,
  tps_samples bigint not null,
  tps_sketch bytea not null,
  ttft_p50_ms double precision,
  tps_p50 double precision,
  media double precision[],
  PRIMARY KEY (starts_at, model, provider),
  constraint market_day_media_check CHECK (cardinality(media) = 4)
);
CREATE INDEX market_day_model_starts_at_idx ON public.market_day USING btree (model, starts_at);

-- Trades and speed of an offer in an hour, for the order book.
create table market_offer_hour (
  starts_at timestamp with time zone not null,
  offer text not null,
  model text not null,
  trades bigint not null,
  volume_micro bigint not null,
  ttft_samples bigint not null,
  ttft_sketch bytea not null,
  -- Attempts that the provider failed. Null in hours that were summed before the column was there.
  failed bigint,
  -- Calls that were paid, or served for nothing. Null in hours that were summed before the column was there.
  calls bigint,
  -- What the seller earned, in micro-USD. Null in hours that were summed before the column was there.
  net_micro bigint,
  PRIMARY KEY (starts_at, offer)
);
CREATE INDEX market_offer_hour_by_model ON public.market_offer_hour USING btree (model, starts_at);
CREATE INDEX market_offer_hour_by_offer ON public.market_offer_hour USING btree (offer, starts_at);

-- The row of a model as lists show it: figures of 24 hours from `window_from` on, computed from hours.
create table market_row (
  model text not null,
  window_from timestamp with time zone not null,
  body jsonb not null,
  PRIMARY KEY (model)
);

-- Times during which offers of a model at a provider were out of the rotation. All rows are computed from the health
-- log and the offers, and may be computed again.
create table market_incident (
  -- The beginning in Unix milliseconds and a hash of the place: the order of the list.
  id text not null,
  model text not null,
  provider text not null,
  started_at timestamp with time zone not null,
  -- The time at which the last offer was back, or will be tried again.
  ends_at timestamp with time zone not null,
  offers integer not null,
  back_offs integer not null,
  -- The most frequent error.
  cause text,
  PRIMARY KEY (id),
  constraint market_incident_check CHECK (ends_at > started_at),
  constraint market_incident_check1 CHECK (back_offs >= offers),
  constraint market_incident_offers_check CHECK (offers > 0)
);
CREATE INDEX market_incident_by_end ON public.market_incident USING btree (ends_at);
CREATE INDEX market_incident_by_place ON public.market_incident USING btree (model, provider, started_at);

-- Incidents that operators declare to everybody.
create table declared_incident (
  id text not null,
  title text not null,
  -- The models of the incident. Empty for the whole market.
  models text[] not null,
  providers text[] not null,
  state text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  PRIMARY KEY (id),
  constraint declared_incident_check CHECK (ended_at >= started_at),
  constraint declared_incident_check1 CHECK ((state = 'resolved'::text) = (ended_at IS NOT NULL)),
  constraint declared_incident_state_check CHECK (state = ANY (ARRAY['investigating'::text, 'identified'::text, 'monitoring'::text, 'resolved'::text])),
  constraint declared_incident_title_check CHECK (length(title) >= 1 AND length(title) <= 200)
);

-- The notes of a declared incident, in the order of their times.
create table declared_incident_note (
  incident text not null,
  number integer not null,
  at timestamp with time zone not null,
  state text not null,
  note text not null,
  PRIMARY KEY (incident, number),
  FOREIGN KEY (incident) REFERENCES declared_incident(id),
  constraint declared_incident_note_note_check CHECK (length(note) >= 1 AND length(note) <= 2000),
  constraint declared_incident_note_number_check CHECK (number >= 1 AND number <= 20),
  constraint declared_incident_note_state_check CHECK (state = ANY (ARRAY['investigating'::text, 'identified'::text, 'monitoring'::text, 'resolved'::text]))
);

-- Addresses that an account has events sent to.
create table webhook (
  id text not null,
  account text not null,
  url text not null,
  label text,
  events text[] not null,
  -- The balance in micro-USD below which the buyer is told. Null for never.
  low_balance_micro bigint,
  is_enabled boolean not null,
  -- Sealed signing secrets: the present one, and the former one while both sign.
  secret jsonb not null,
  former_secret jsonb,
  former_until timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  -- The shape of the body: the event as JSON, a text as Slack takes it, or an e-mail to the address of a mailto: URL.
  format text not null default 'standard'::text,
  PRIMARY KEY (id),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint webhook_email CHECK ((format = 'email'::text) = (url ~~ 'mailto:%'::text)),
  constraint webhook_events_check CHECK (cardinality(events) > 0),
  constraint webhook_format_check CHECK (format = ANY (ARRAY['standard'::text, 'slack'::text, 'email'::text])),
  constraint webhook_former CHECK ((former_secret IS NULL) = (former_until IS NULL)),
  constraint webhook_id_check CHECK (id ~ '^whk_[0-9A-Za-z_-]{1,64}$'::text),
  constraint webhook_label_check CHECK (length(label) <= 200),
  constraint webhook_low_balance_micro_check CHECK (low_balance_micro > 0),
  constraint webhook_url_check CHECK (length(url) <= 2048)
);
CREATE INDEX webhook_by_account ON public.webhook USING btree (account, id);

-- Alerts by e-mail of an account on a UTC day, sent or above the limit.
create table alert_mail_day (
  account text not null,
  day date not null,
  alerts integer not null,
  PRIMARY KEY (account, day),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint alert_mail_day_alerts_check CHECK (alerts > 0)
);
CREATE INDEX alert_mail_day_by_age ON public.alert_mail_day USING btree (day);

-- Alerts that were sent, so that each is sent once: of a key in a day or month, or of a balance until it has risen
-- again.
create table webhook_alert (
  webhook_id text not null,
  subject text not null,
  mark text not null,
  at timestamp with time zone not null,
  PRIMARY KEY (webhook_id, subject, mark),
  FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE
);
CREATE INDEX webhook_alert_by_age ON public.webhook_alert USING btree (at);

-- Deliveries of events to webhooks, with their tries.
create table webhook_delivery (
  id text not null,
  webhook_id text not null,
  event text not null,
  -- The bytes that are signed and sent.
  body text not null,
  status text not null,
  attempts integer not null default 0,
  status_code integer,
  error text,
  created_at timestamp with time zone not null,
  attempted_at timestamp with time zone,
  delivered_at timestamp with time zone,
  PRIMARY KEY (id),
  FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE,
  constraint webhook_delivery_attempts_check CHECK (attempts >= 0),
  constraint webhook_delivery_body_check CHECK (length(body) <= 65536),
  constraint webhook_delivery_error_check CHECK (length(error) <= 500),
  constraint webhook_delivery_id_check CHECK (id ~ '^whd_[0-9A-Za-z_-]{1,64}$'::text),
  constraint webhook_delivery_status_check CHECK (status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))
);
CREATE INDEX webhook_delivery_by_webhook ON public.webhook_delivery USING btree (webhook_id, id);
CREATE INDEX webhook_delivery_waiting ON public.webhook_delivery USING btree (id) WHERE (status = 'pending'::text);

-- Answers of operations that came with an idempotency key.
create table idempotency (
  tenant text not null,
  operation text not null,
  key text not null,
  -- HMAC of the request.
  request_hash text not null,
  -- Null while the first run goes on.
  answer jsonb,
  claimed_at timestamp with time zone not null,
  lease_until timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (tenant, operation, key),
  constraint idempotency_key_check CHECK (length(key) >= 1 AND length(key) <= 255)
);
CREATE INDEX idempotency_by_end ON public.idempotency USING btree (expires_at);

-- Changes by users and operators: actor, object, and the state before and after.
create table audit_log (
  id text not null,
  at timestamp with time zone not null,
  actor_kind text not null,
  actor text not null,
  key_id text,
  operation text not null,
  subject text,
  before jsonb,
  after jsonb,
  -- The organisation whose log shows the row.
  organization text,
  PRIMARY KEY (id)
);
CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (actor, id);
CREATE INDEX audit_log_by_organization ON public.audit_log USING btree (organization, id) WHERE (organization IS NOT NULL);
CREATE INDEX audit_log_by_subject ON public.audit_log USING btree (subject, id) WHERE (subject IS NOT NULL);
CREATE TRIGGER audit_log_stays BEFORE DELETE OR UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Documents of the snapshot that were published.
create table snapshot_document (
  name text not null,
  version bigint not null,
  -- SHA-256 of the published body.
  body_hash text not null,
  -- The inputs of the document, where comparing them is cheaper than building the document again.
  source text,
  published_at timestamp with time zone not null,
  PRIMARY KEY (name)
);

-- The process that does a periodic job now. The lease of a dead process ends by the clock of this database.
create table worker_lease (
  name text not null,
  owner text not null,
  expires_at timestamp with time zone not null,
  PRIMARY KEY (name)
);

-- Switches that operators turn without a restart. A switch without a row has its default.
create table feature_switch (
  name text not null,
  is_on boolean not null,
  reason text not null,
  changed_at timestamp with time zone not null,
  changed_by text not null,
  PRIMARY KEY (name),
  constraint feature_switch_name_check CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'::text),
  constraint feature_switch_reason_check CHECK (length(reason) >= 1 AND length(reason) <= 500)
);

-- Calls a minute by kind of call. `key_in_flight` bounds the calls that run at once.
create table rate_limit (
  name text not null,
  per_key integer not null,
  per_wallet integer,
  changed_at timestamp with time zone not null,
  changed_by text not null,
  PRIMARY KEY (name),
  constraint rate_limit_name_check CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'::text),
  constraint rate_limit_per_key_check CHECK (per_key >= 1 AND per_key <= 1000000),
  constraint rate_limit_per_wallet_check CHECK (per_wallet >= 1 AND per_wallet <= 1000000)
);

-- Runs of the ledger's checker.
create table invariant_run (
  id text not null,
  started_at timestamp with time zone not null,
  took_ms integer not null,
  findings jsonb not null,
  breaches text[] not null,
  -- The reason for a run without findings: a record could not be read. Null otherwise.
  failure text,
  PRIMARY KEY (id),
  constraint invariant_run_took_ms_check CHECK (took_ms >= 0)
);
CREATE TRIGGER invariant_run_kept BEFORE UPDATE ON invariant_run FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Differences between the gate and the ledger. A row lasts as long as its difference.
create table money_finding (
  kind text not null,
  subject text not null,
  detail text not null,
  first_seen_at timestamp with time zone not null default now(),
  last_seen_at timestamp with time zone not null default now(),
  times_seen integer not null default 1,
  -- Null as long as the latest comparison shows the difference.
  gone_at timestamp with time zone,
  PRIMARY KEY (kind, subject)
);

-- Holds of all payouts. Payouts wait while a row is not cleared, and only a person clears a row.
create table payout_hold (
  id text not null,
  reason text not null,
  set_at timestamp with time zone not null default now(),
  cleared_at timestamp with time zone,
  cleared_by text,
  clear_reason text,
  PRIMARY KEY (id),
  constraint payout_hold_clear_reason_check CHECK (length(clear_reason) >= 1 AND length(clear_reason) <= 500),
  constraint payout_hold_cleared_whole CHECK ((cleared_at IS NULL) = (cleared_by IS NULL) AND (cleared_at IS NULL) = (clear_reason IS NULL))
);
CREATE UNIQUE INDEX payout_hold_in_force ON public.payout_hold USING btree (reason) WHERE (cleared_at IS NULL);
CREATE TRIGGER payout_hold_kept BEFORE DELETE ON payout_hold FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Migrations that ran, with their checksums.
create table migration (
  name text not null,
  checksum text not null,
  ran_at timestamp with time zone not null default now(),
  PRIMARY KEY (name)
);

-- Calls that a wallet pays for, by the request id of the call. Amounts are micro-USD.
create table chain_payment (
  -- The request id of the call.
  rid text not null,
  rail text not null,
  network text not null,
  asset text not null,
  payer text not null,
  nonce text not null,
  -- The payer's buyer account. It gets the part of the payment that the call did not use.
  account text not null,
  -- The largest amount that may be taken.
  amount bigint not null,
  -- The amount to transfer. Null until the call told its charge.
  due bigint,
  charge bigint,
  -- The usage event of the call, byte for byte. Null until the call told it.
  event text,
  state text not null default 'claimed'::text,
  payload jsonb not null,
  requirement jsonb not null,
  body_digest text not null,
  -- The end of the authorization on the chain.
  valid_until timestamp with time zone not null,
  serve_until timestamp with time zone not null,
  tx_hash text,
  block bigint,
  -- The reason for a write-off or a delay.
  reason text,
  claimed_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  -- The time at which the ledger had the call.
  booked_at timestamp with time zone,
  -- The time at which an operator forgave the debt.
  cleared_at timestamp with time zone,
  -- The amount that the chain moved, once its block is deep enough. A surplus is the payer's credit. The platform
  -- stands in for a lack, which the payer owes.
  came bigint,
  -- The time of the last look for a payment that was written off whole. The payment is looked for until a look after
  -- its end.
  sought_at timestamp with time zone,
  -- True for a payer whose own code judges its signatures and may change its mind before it pays. Open and unpaid
  -- amounts of such payers are bounded.
  is_contract boolean not null default false,
  PRIMARY KEY (rid),
  UNIQUE (network, asset, payer, nonce),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint chain_payment_amount_check CHECK (amount > 0),
  constraint chain_payment_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint chain_payment_body_digest_check CHECK (body_digest ~ '^[0-9a-f]{64}$'::text),
  constraint chain_payment_came_final CHECK (came IS NULL OR (state = ANY (ARRAY['confirmed'::text, 'written_off'::text]))),
  constraint chain_payment_came_known CHECK (state <> 'confirmed'::text OR came IS NOT NULL),
  constraint chain_payment_came_within CHECK (came >= 1 AND (came <= amount OR nonce ~~ '0x%'::text)),
  constraint chain_payment_charge_told CHECK ((charge IS NULL) = (event IS NULL)),
  constraint chain_payment_charge_within CHECK (charge >= 0 AND charge <= due),
  constraint chain_payment_due_known CHECK ((state = ANY (ARRAY['claimed'::text, 'released'::text])) OR due IS NOT NULL),
  constraint chain_payment_due_within CHECK (due >= 1 AND due <= amount),
  constraint chain_payment_mined_named CHECK ((state <> ALL (ARRAY['mined'::text, 'confirmed'::text])) OR tx_hash IS NOT NULL),
  constraint chain_payment_nonce_check CHECK (length(nonce) >= 1 AND length(nonce) <= 100),
  constraint chain_payment_payer_check CHECK (payer ~ '^0x[0-9a-f]{40}$'::text),
  constraint chain_payment_rail_check CHECK (rail = ANY (ARRAY['x402-upto'::text, 'x402-exact'::text, 'mpp'::text])),
  constraint chain_payment_reason_check CHECK (length(reason) <= 200),
  constraint chain_payment_rid_check CHECK (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'::text),
  constraint chain_payment_state_check CHECK (state = ANY (ARRAY['claimed'::text, 'due'::text, 'mined'::text, 'confirmed'::text, 'released'::text, 'written_off'::text]))
);
CREATE INDEX chain_payment_by_account ON public.chain_payment USING btree (account, rid);
CREATE INDEX chain_payment_by_transaction ON public.chain_payment USING btree (tx_hash) WHERE (tx_hash IS NOT NULL);
CREATE INDEX chain_payment_exposed ON public.chain_payment USING btree (payer) WHERE (state = ANY (ARRAY['claimed'::text, 'due'::text, 'mined'::text, 'written_off'::text]));
CREATE INDEX chain_payment_free ON public.chain_payment USING btree (changed_at) WHERE ((booked_at IS NULL) AND (state = 'released'::text) AND (event IS NOT NULL));
CREATE INDEX chain_payment_open ON public.chain_payment USING btree (changed_at) WHERE ((state = ANY (ARRAY['claimed'::text, 'due'::text, 'mined'::text])) OR ((booked_at IS NULL) AND (state = ANY (ARRAY['confirmed'::text, 'written_off'::text]))));
CREATE INDEX chain_payment_paid ON public.chain_payment USING btree (payer, changed_at) WHERE (state = 'confirmed'::text);
CREATE INDEX chain_payment_sold ON public.chain_payment USING btree ((((event)::jsonb ->> 'sellerAccount'::text))) WHERE ((booked_at IS NULL) AND (event IS NOT NULL));
CREATE INDEX chain_payment_sought ON public.chain_payment USING btree (valid_until) WHERE ((state = 'written_off'::text) AND (came IS NULL) AND (sought_at IS NULL));
CREATE INDEX chain_payment_unbooked ON public.chain_payment USING btree (account, rid) WHERE ((booked_at IS NULL) AND (event IS NOT NULL));
CREATE INDEX chain_payment_unpaid ON public.chain_payment USING btree (changed_at) WHERE ((state = 'written_off'::text) AND (cleared_at IS NULL));
CREATE TRIGGER chain_payment_keeps BEFORE UPDATE ON chain_payment FOR EACH ROW EXECUTE FUNCTION keep_chain_payment();
CREATE TRIGGER chain_payment_kept BEFORE DELETE ON chain_payment FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The next nonce of each key that sends transactions. Every process takes its nonces here.
create table chain_sender (
  address text not null,
  next_nonce bigint not null,
  PRIMARY KEY (address),
  constraint chain_sender_address_check CHECK (address ~ '^0x[0-9a-f]{40}$'::text),
  constraint chain_sender_next_nonce_check CHECK (next_nonce >= 0)
);

-- Signed transactions. A transaction is stored before it is sent, and sent again until a block has it.
create table chain_transaction (
  hash text not null,
  sender text not null,
  nonce bigint not null,
  -- The purpose: for a payment its network, asset, payer and nonce.
  ref text not null,
  raw text not null,
  is_reverted boolean,
  mined_at timestamp with time zone,
  signed_at timestamp with time zone not null default now(),
  sent_at timestamp with time zone,
  -- The time at which the chain of the transaction was given up. The transaction is never sent again.
  dead_at timestamp with time zone,
  PRIMARY KEY (hash),
  UNIQUE (sender, nonce, hash),
  FOREIGN KEY (sender) REFERENCES chain_sender(address),
  constraint chain_transaction_hash_check CHECK (hash ~ '^0x[0-9a-f]{64}$'::text)
);
CREATE INDEX chain_transaction_by_ref ON public.chain_transaction USING btree (ref, signed_at);
CREATE INDEX chain_transaction_unmined ON public.chain_transaction USING btree (sender, nonce) WHERE (mined_at IS NULL);
CREATE TRIGGER chain_transaction_kept BEFORE DELETE ON chain_transaction FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Forwarded resources: providers and families of calls that are described by records.
create table resource (
  id text not null,
  kind text not null,
  -- The version that counts. Documents and prices of calls name it.
  version integer not null,
  updated_at timestamp with time zone not null,
  PRIMARY KEY (id),
  constraint resource_id_check CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,39}$'::text),
  constraint resource_kind_check CHECK (kind = ANY (ARRAY['resource'::text, 'family'::text])),
  constraint resource_version_check CHECK (version > 0)
);

-- All versions of the records. A charge names its version, so a version never changes.
create table resource_version (
  resource text not null,
  version integer not null,
  record jsonb not null,
  source text not null,
  actor text not null,
  created_at timestamp with time zone not null,
  PRIMARY KEY (resource, version),
  FOREIGN KEY (resource) REFERENCES resource(id),
  constraint resource_version_of_its_record CHECK ((record ->> 'id'::text) = resource),
  constraint resource_version_source_check CHECK (length(source) >= 1 AND length(source) <= 500),
  constraint resource_version_version_check CHECK (version > 0)
);
CREATE TRIGGER resource_version_stays BEFORE DELETE OR UPDATE ON resource_version FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Provider keys that sellers lend whole. Each is an offer with a sealed key of its own.
create table lent_offer (
  id text not null,
  seller_account text not null,
  resource text not null,
  credential_id text not null,
  -- HMAC of resource and key. Equal keys are found by it without opening any. It outlives the key.
  fingerprint text not null,
  -- The wrapped data key and the ciphertext, in one value. Null once the key was destroyed.
  sealed jsonb,
  purged_at timestamp with time zone,
  kept_bps smallint not null,
  cap_daily_micro bigint,
  label text,
  -- The models that the seller allows. Null allows all that the record allows.
  models text[],
  methods text[],
  paths text[],
  rate_per_minute integer,
  buyer_share_pct smallint,
  -- Traits that the seller declares.
  traits_declared text[] not null,
  traits_probed text[] not null,
  -- The time at which the seller confirmed that state stays in the account, and that the provider's terms allow
  -- lending.
  acknowledged_at timestamp with time zone not null,
  status text not null,
  -- The operator's reason. An offer with a reason is never active.
  delisted_reason text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  PRIMARY KEY (id),
  UNIQUE (credential_id),
  FOREIGN KEY (resource) REFERENCES resource(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint lent_offer_buyer_share_pct_check CHECK (buyer_share_pct >= 1 AND buyer_share_pct <= 100),
  constraint lent_offer_cap_daily_micro_check CHECK (cap_daily_micro > 0),
  constraint lent_offer_credential_id_check CHECK (credential_id ~ '^crd_[0-9A-Za-z_-]{1,64}$'::text),
  constraint lent_offer_delisted_is_off CHECK (delisted_reason IS NULL OR status <> 'active'::text),
  constraint lent_offer_fingerprint_check CHECK (fingerprint ~ '^[0-9a-f]{64}$'::text),
  constraint lent_offer_id_check CHECK (id ~ '^ofr_[0-9A-Za-z_-]{1,64}$'::text),
  constraint lent_offer_kept_bps_check CHECK (kept_bps >= 2000 AND kept_bps <= 9500),
  constraint lent_offer_label_check CHECK (length(label) <= 200),
  constraint lent_offer_methods_check CHECK (cardinality(methods) >= 1 AND cardinality(methods) <= 3),
  constraint lent_offer_models_check CHECK (cardinality(models) >= 1 AND cardinality(models) <= 100),
  constraint lent_offer_paths_check CHECK (cardinality(paths) >= 1 AND cardinality(paths) <= 100),
  constraint lent_offer_purged_has_no_key CHECK ((sealed IS NULL) = (purged_at IS NOT NULL)),
  constraint lent_offer_purged_is_off CHECK (purged_at IS NULL OR status = 'delisted'::text),
  constraint lent_offer_rate_per_minute_check CHECK (rate_per_minute >= 1 AND rate_per_minute <= 1000000),
  constraint lent_offer_sealed_for CHECK ((sealed ->> 'id'::text) = credential_id AND (sealed ->> 'tenant'::text) = seller_account AND (sealed ->> 'host'::text) = resource AND (sealed ->> 'purpose'::text) = 'resource'::text),
  constraint lent_offer_share_is_of_a_cap CHECK (buyer_share_pct IS NULL OR cap_daily_micro IS NOT NULL),
  constraint lent_offer_status_check CHECK (status = ANY (ARRAY['active'::text, 'paused'::text, 'delisted'::text]))
);
CREATE INDEX lent_offer_by_resource ON public.lent_offer USING btree (resource, status, updated_at);
CREATE INDEX lent_offer_by_seller ON public.lent_offer USING btree (seller_account, id);
CREATE UNIQUE INDEX lent_offer_one_active_per_key ON public.lent_offer USING btree (fingerprint) WHERE (status = 'active'::text);
CREATE TRIGGER lent_offer_cap_noted AFTER UPDATE OF cap_daily_micro ON lent_offer FOR EACH ROW WHEN (old.cap_daily_micro IS DISTINCT FROM new.cap_daily_micro) EXECUTE FUNCTION note_cap_change();
CREATE TRIGGER lent_offer_of_open_workspace BEFORE INSERT ON lent_offer FOR EACH ROW EXECUTE FUNCTION refuse_offer_of_closed();

-- The common columns of both kinds of offers, for money, health and workspaces.
create view every_offer as
SELECT offer.id,
    offer.seller_account,
    offer.cap_daily_micro,
    offer.status <> 'inactive'::text AS is_listed
   FROM offer
UNION ALL
 SELECT lent_offer.id,
    lent_offer.seller_account,
    lent_offer.cap_daily_micro,
    lent_offer.status <> 'delisted'::text AS is_listed
   FROM lent_offer;

-- Earnings of each offer, and the part of them in payouts that were not returned. Rows are written under the lock of
-- the seller's account.
create table offer_earning (
  offer text not null,
  -- The seller's account.
  seller text not null,
  earned bigint not null,
  allocated bigint not null default 0,
  PRIMARY KEY (offer),
  constraint offer_earning_check CHECK (allocated >= 0 AND allocated <= earned),
  constraint offer_earning_earned_check CHECK (earned >= 0)
);
CREATE INDEX offer_earning_by_seller ON public.offer_earning USING btree (seller, offer);

-- Transfers out of the treasury: payouts and sweeps. Amounts are micro-USD.
create table treasury_transfer (
  id text not null,
  purpose text not null,
  -- The account that a payout pays out.
  seller text,
  in_flight text,
  recipient text not null,
  amount bigint not null,
  -- The sender of the authorization: the treasury, in a batch, or the seller.
  mode text not null,
  state text not null default 'scheduled'::text,
  -- The reason for a hold, a delay or a return.
  reason text,
  -- The nonce of the authorization (EIP-3009), made of the id alone. The token takes a nonce once, so a transfer
  -- happens once.
  nonce text not null,
  -- The chain of the last signature.
  chain_id bigint,
  asset text,
  treasury text,
  signature text,
  valid_until timestamp with time zone,
  -- The newest block at the first signature. No block before has the transfer.
  signed_at_block bigint,
  -- The transaction that carries the transfer, with others.
  batch text,
  tx_hash text,
  block bigint,
  planned_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  -- The time at which the transfer was paid or returned for good.
  ended_at timestamp with time zone,
  number bigint,
  -- The time at which the chain showed the transfer without a row here, or with a row that nobody had signed.
  found_at timestamp with time zone,
  PRIMARY KEY (id),
  FOREIGN KEY (in_flight) REFERENCES account(id),
  FOREIGN KEY (seller) REFERENCES account(id),
  constraint treasury_transfer_amount_check CHECK (amount > 0),
  constraint treasury_transfer_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_transfer_ended CHECK ((state = ANY (ARRAY['paid'::text, 'returned'::text])) = (ended_at IS NOT NULL)),
  constraint treasury_transfer_id_check CHECK (id ~ '^(pay|swp)_[0-9A-Za-z_-]{1,64}$'::text),
  constraint treasury_transfer_mined CHECK ((state = ANY (ARRAY['mined'::text, 'paid'::text])) = (tx_hash IS NOT NULL)),
  constraint treasury_transfer_mode_check CHECK (mode = ANY (ARRAY['batched'::text, 'self_submit'::text])),
  constraint treasury_transfer_nonce_check CHECK (nonce ~ '^0x[0-9a-f]{64}$'::text),
  constraint treasury_transfer_number_check CHECK (number > 0),
  constraint treasury_transfer_of_seller CHECK ((purpose = 'payout'::text) = (seller IS NOT NULL) AND (seller IS NULL) = (in_flight IS NULL)),
  constraint treasury_transfer_purpose_check CHECK (purpose = ANY (ARRAY['payout'::text, 'sweep'::text])),
  constraint treasury_transfer_reason_check CHECK (length(reason) <= 200),
  constraint treasury_transfer_recipient_check CHECK (recipient ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_transfer_signed CHECK ((state <> ALL (ARRAY['signed'::text, 'mined'::text])) AND (state <> 'paid'::text OR found_at IS NOT NULL) OR signature IS NOT NULL),
  constraint treasury_transfer_signed_whole CHECK ((signature IS NULL) = (valid_until IS NULL) AND (signature IS NULL) = (signed_at_block IS NULL) AND (treasury IS NULL) = (asset IS NULL) AND (treasury IS NULL) = (chain_id IS NULL) AND (treasury IS NULL) = (signature IS NULL AND found_at IS NULL)),
  constraint treasury_transfer_state_check CHECK (state = ANY (ARRAY['scheduled'::text, 'held'::text, 'signed'::text, 'mined'::text, 'paid'::text, 'returned'::text])),
  constraint treasury_transfer_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_transfer_tx_hash_check CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'::text)
);
CREATE INDEX treasury_transfer_by_batch ON public.treasury_transfer USING btree (batch) WHERE (state = 'signed'::text);
CREATE UNIQUE INDEX treasury_transfer_by_nonce ON public.treasury_transfer USING btree (nonce) WHERE (state <> 'returned'::text);
CREATE INDEX treasury_transfer_by_recipient ON public.treasury_transfer USING btree (recipient, seller);
CREATE INDEX treasury_transfer_by_seller ON public.treasury_transfer USING btree (seller, id) WHERE (seller IS NOT NULL);
CREATE INDEX treasury_transfer_by_transaction ON public.treasury_transfer USING btree (tx_hash) WHERE (tx_hash IS NOT NULL);
CREATE INDEX treasury_transfer_open ON public.treasury_transfer USING btree (state, id) WHERE (state <> ALL (ARRAY['paid'::text, 'returned'::text]));
CREATE TRIGGER treasury_transfer_keeps BEFORE UPDATE ON treasury_transfer FOR EACH ROW EXECUTE FUNCTION keep_treasury_transfer();
CREATE TRIGGER treasury_transfer_kept BEFORE DELETE ON treasury_transfer FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The offers whose earnings a payout is made of. The empty offer stands for money that no offer earned.
create table payout_item (
  payout text not null,
  offer text not null,
  amount bigint not null,
  PRIMARY KEY (payout, offer),
  FOREIGN KEY (payout) REFERENCES treasury_transfer(id),
  constraint payout_item_amount_check CHECK (amount > 0)
);
CREATE TRIGGER payout_item_kept BEFORE DELETE OR UPDATE ON payout_item FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Sellers whom an operator does not pay.
create table seller_stop (
  id text not null,
  seller text not null,
  reason text not null,
  set_at timestamp with time zone not null default now(),
  set_by text not null,
  cleared_at timestamp with time zone,
  cleared_by text,
  PRIMARY KEY (id),
  FOREIGN KEY (seller) REFERENCES account(id),
  constraint seller_stop_cleared_whole CHECK ((cleared_at IS NULL) = (cleared_by IS NULL)),
  constraint seller_stop_reason_check CHECK (length(reason) >= 1 AND length(reason) <= 500)
);
CREATE UNIQUE INDEX seller_stop_in_force ON public.seller_stop USING btree (seller) WHERE (cleared_at IS NULL);
CREATE TRIGGER seller_stop_kept BEFORE DELETE ON seller_stop FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- The last time at which balances were turned into payouts.
create table payout_drain (
  is_only boolean not null default true,
  drained_at timestamp with time zone not null,
  PRIMARY KEY (is_only),
  constraint payout_drain_is_only_check CHECK (is_only)
);

-- The progress of reading the chain, for a token of a treasury.
create table treasury_cursor (
  chain_id bigint not null,
  asset text not null,
  treasury text not null,
  first_block bigint not null,
  -- The balance before the first block, in micro-USD.
  opening bigint not null,
  -- The first block that was not read.
  next_block bigint not null,
  balance bigint not null,
  -- The last block at whose end the chain had the balance that the transfers leave. Later blocks are read again when
  -- the two differ.
  proven_block bigint not null,
  proven_at timestamp with time zone not null default now(),
  -- The number of comparisons since then that differed.
  misses integer not null default 0,
  difference bigint not null default 0,
  -- The hash of the last proven block.
  proven_hash text,
  -- A block far below it, which no reorganisation reaches. Null until the next proof.
  anchor_block bigint,
  anchor_hash text,
  -- The time since which the chain is another one. Nothing is read or sent meanwhile.
  strange_since timestamp with time zone,
  -- The number of the chain with this id: 0 is the first, and each accepted one is one more.
  era integer not null default 0,
  -- The time at which the chain was accepted. Null for the first.
  era_at timestamp with time zone,
  -- The time since which the transfers do not leave the balance that the chain says.
  missing_since timestamp with time zone,
  reread_at timestamp with time zone,
  retired_at timestamp with time zone,
  -- False while the balance before the first block is unknown: the block is older than the loss of the ledger, and
  -- nodes may not tell balances of then.
  is_opening_known boolean not null default true,
  PRIMARY KEY (chain_id, asset, treasury),
  constraint treasury_cursor_accepted CHECK ((era = 0) = (era_at IS NULL)),
  constraint treasury_cursor_anchor_block_check CHECK (anchor_block >= 0),
  constraint treasury_cursor_anchor_hash_check CHECK (anchor_hash ~ '^0x[0-9a-f]{64}$'::text),
  constraint treasury_cursor_anchored CHECK ((anchor_block IS NULL) = (anchor_hash IS NULL)),
  constraint treasury_cursor_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_cursor_era_check CHECK (era >= 0),
  constraint treasury_cursor_first_block_check CHECK (first_block >= 0),
  constraint treasury_cursor_in_order CHECK (first_block <= next_block AND proven_block < next_block),
  constraint treasury_cursor_misses_check CHECK (misses >= 0),
  constraint treasury_cursor_opening_check CHECK (opening >= 0),
  constraint treasury_cursor_proven_hash_check CHECK (proven_hash ~ '^0x[0-9a-f]{64}$'::text),
  constraint treasury_cursor_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text)
);

-- Transfers of the token to and from the treasury, as the chain shows them.
create table treasury_move (
  chain_id bigint not null,
  asset text not null,
  treasury text not null,
  direction text not null,
  tx_hash text not null,
  -- The number of the transfer among those of its transaction in this direction, from 0. A reorganisation changes the
  -- index of a log, and not this number.
  place integer not null,
  block bigint not null,
  log_index integer not null,
  -- The other side.
  party text not null,
  amount bigint not null,
  -- The nonce of the authorization (EIP-3009) that moved the token.
  nonce text,
  -- The purpose. `new` before the first look. `unknown` for a transfer in that no account can be named for, and for a
  -- transfer out that nobody here sent.
  kind text not null default 'new'::text,
  -- The deposit, the payment's request id or the transfer out of the treasury.
  ref text,
  reason text,
  seen_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  -- The number of the chain. The same signed bytes are a transaction on each chain with this id.
  era integer not null default 0,
  -- The nonce of a Permit2 transfer, in decimal digits.
  permit_nonce text,
  -- The only sender that may use the permit, in lower case.
  permit_by text,
  -- The sellers among whom the name of a departure without a row is looked for.
  sought_among text,
  -- The last account that was looked through. The next turn goes on after it.
  sought_after text,
  PRIMARY KEY (chain_id, asset, treasury, era, tx_hash, direction, place),
  constraint treasury_move_amount_check CHECK (amount > 0),
  constraint treasury_move_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_move_direction_check CHECK (direction = ANY (ARRAY['in'::text, 'out'::text])),
  constraint treasury_move_era_check CHECK (era >= 0),
  constraint treasury_move_kind_check CHECK (kind = ANY (ARRAY['new'::text, 'deposit'::text, 'payment'::text, 'capital'::text, 'payout'::text, 'sweep'::text, 'unknown'::text])),
  constraint treasury_move_kind_fits CHECK ((kind = ANY (ARRAY['new'::text, 'unknown'::text, 'sweep'::text, 'capital'::text])) OR (kind = 'payout'::text) = (direction = 'out'::text)),
  constraint treasury_move_named CHECK ((kind = ANY (ARRAY['deposit'::text, 'payout'::text])) <= (ref IS NOT NULL)),
  constraint treasury_move_nonce_check CHECK (nonce ~ '^0x[0-9a-f]{64}$'::text),
  constraint treasury_move_party_check CHECK (party ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_move_permit_nonce_check CHECK (permit_nonce ~ '^[0-9]{1,78}$'::text),
  constraint treasury_move_permit_whole CHECK ((permit_nonce IS NULL) = (permit_by IS NULL)),
  constraint treasury_move_place_check CHECK (place >= 0),
  constraint treasury_move_reason_check CHECK (length(reason) <= 200),
  constraint treasury_move_sought_among_check CHECK (sought_among = ANY (ARRAY['paid_there'::text, 'all'::text])),
  constraint treasury_move_sought_whole CHECK ((sought_among IS NULL) = (sought_after IS NULL)),
  constraint treasury_move_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text),
  constraint treasury_move_tx_hash_check CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'::text)
);
CREATE INDEX treasury_move_by_block ON public.treasury_move USING btree (block);
CREATE INDEX treasury_move_by_nonce ON public.treasury_move USING btree (party, nonce) WHERE (nonce IS NOT NULL);
CREATE INDEX treasury_move_by_permit ON public.treasury_move USING btree (party, permit_nonce) WHERE (permit_nonce IS NOT NULL);
CREATE INDEX treasury_move_by_ref ON public.treasury_move USING btree (ref) WHERE (ref IS NOT NULL);
CREATE INDEX treasury_move_credited ON public.treasury_move USING btree (tx_hash) WHERE (kind = 'deposit'::text);
CREATE INDEX treasury_move_new ON public.treasury_move USING btree (block, log_index) WHERE (kind = 'new'::text);
CREATE INDEX treasury_move_unknown ON public.treasury_move USING btree (party) WHERE (kind = 'unknown'::text);
CREATE INDEX treasury_move_unnamed ON public.treasury_move USING btree (tx_hash) WHERE ((kind = 'payment'::text) AND (ref IS NULL));
CREATE TRIGGER treasury_move_keeps BEFORE UPDATE ON treasury_move FOR EACH ROW EXECUTE FUNCTION keep_treasury_move();
CREATE TRIGGER treasury_move_kept BEFORE DELETE ON treasury_move FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Other tokens that came to the treasury, as counts by token. Nobody is credited for them.
create table stray_token (
  chain_id bigint not null,
  token text not null,
  treasury text not null,
  transfers bigint not null,
  -- In units of the token.
  amount numeric not null,
  last_sender text not null,
  last_tx text not null,
  last_block bigint not null,
  first_seen_at timestamp with time zone not null default now(),
  PRIMARY KEY (chain_id, treasury, token),
  constraint stray_token_amount_check CHECK (amount >= 0::numeric),
  constraint stray_token_token_check CHECK (token ~ '^0x[0-9a-f]{40}$'::text),
  constraint stray_token_transfers_check CHECK (transfers > 0),
  constraint stray_token_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text)
);

-- Deposits of buyers: a transfer that came by itself, or an authorization (EIP-3009) whose nonce names the account.
create table deposit (
  id text not null,
  account text not null,
  method text not null,
  sender text not null,
  amount bigint not null,
  state text not null,
  reason text,
  chain_id bigint not null,
  asset text not null,
  treasury text not null,
  -- The nonce of the authorization.
  nonce text,
  valid_until timestamp with time zone,
  signature text,
  tx_hash text,
  block bigint,
  opened_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  credited_at timestamp with time zone,
  PRIMARY KEY (id),
  UNIQUE (nonce),
  FOREIGN KEY (account) REFERENCES account(id),
  constraint deposit_amount_check CHECK (amount > 0),
  constraint deposit_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint deposit_credited_whole CHECK ((state = 'credited'::text) = (credited_at IS NOT NULL) AND (state = 'credited'::text) = (tx_hash IS NOT NULL) AND (state = 'credited'::text) = (block IS NOT NULL)),
  constraint deposit_id_check CHECK (id ~ '^dep_[0-9A-Za-z_-]{1,64}$'::text),
  constraint deposit_method_check CHECK (method = ANY (ARRAY['transfer'::text, 'authorization'::text, 'allowance'::text])),
  constraint deposit_nonce_check CHECK (nonce ~ '^0x[0-9a-f]{64}$'::text),
  constraint deposit_reason_check CHECK (length(reason) <= 200),
  constraint deposit_sender_check CHECK (sender ~ '^0x[0-9a-f]{40}$'::text),
  constraint deposit_signature_check CHECK (signature ~ '^0x[0-9a-f]{130}$'::text),
  constraint deposit_signed CHECK (state <> 'signed'::text OR signature IS NOT NULL),
  constraint deposit_signed_whole CHECK ((method = 'authorization'::text) = (nonce IS NOT NULL AND valid_until IS NOT NULL)),
  constraint deposit_state_check CHECK (state = ANY (ARRAY['opened'::text, 'signed'::text, 'credited'::text, 'refused'::text, 'expired'::text])),
  constraint deposit_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text),
  constraint deposit_tx_hash_check CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'::text)
);
CREATE INDEX deposit_by_account ON public.deposit USING btree (account, id);
CREATE INDEX deposit_by_transaction ON public.deposit USING btree (tx_hash) WHERE (tx_hash IS NOT NULL);
CREATE INDEX deposit_open ON public.deposit USING btree (valid_until) WHERE (state = ANY (ARRAY['opened'::text, 'signed'::text]));
CREATE TRIGGER deposit_keeps BEFORE UPDATE ON deposit FOR EACH ROW EXECUTE FUNCTION keep_deposit();
CREATE TRIGGER deposit_kept BEFORE DELETE ON deposit FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Comparisons of the treasury on the chain, its transfers, and the books.
create table treasury_check (
  id text not null,
  started_at timestamp with time zone not null,
  took_ms integer not null,
  -- The last block that was read. Null before the first.
  block bigint,
  -- The balance that the chain says, in micro-USD.
  chain_balance bigint,
  moves_balance bigint,
  -- Amounts in and out, by kind.
  sums jsonb not null,
  mismatches jsonb not null,
  -- The reason for a check without a comparison. Null otherwise.
  failure text,
  PRIMARY KEY (id),
  constraint treasury_check_failure_check CHECK (length(failure) <= 200),
  constraint treasury_check_took_ms_check CHECK (took_ms >= 0)
);

-- Accounts that pay from their wallet: calls are advanced, and the debt is drawn from the wallet's allowance.
create table allowance_line (
  account text not null,
  wallet text not null,
  -- The account of advanced money.
  advance text not null,
  -- The chain of the token.
  chain_id bigint not null,
  asset text not null,
  treasury text not null,
  -- Open: credit is advanced. Stopped: the wallet cannot pay its debt. Closed: its owner ended it.
  state text not null default 'open'::text,
  reason text,
  -- The wallet's balance in the last answer of the chain.
  balance numeric,
  allowance numeric,
  read_at timestamp with time zone,
  -- The time since which the account has spent more than its own credit.
  owed_since timestamp with time zone,
  -- Draws that failed since the last one that came.
  failures integer not null default 0,
  retry_at timestamp with time zone,
  opened_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  PRIMARY KEY (account),
  UNIQUE (advance),
  FOREIGN KEY (account) REFERENCES account(id),
  FOREIGN KEY (advance) REFERENCES account(id),
  constraint allowance_line_allowance_check CHECK (allowance >= 0::numeric),
  constraint allowance_line_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint allowance_line_balance_check CHECK (balance >= 0::numeric),
  constraint allowance_line_failures_check CHECK (failures >= 0),
  constraint allowance_line_read CHECK ((balance IS NULL) = (allowance IS NULL)),
  constraint allowance_line_reason_check CHECK (length(reason) <= 200),
  constraint allowance_line_state_check CHECK (state = ANY (ARRAY['open'::text, 'stopped'::text, 'closed'::text])),
  constraint allowance_line_stopped CHECK ((state = 'stopped'::text) <= (reason IS NOT NULL)),
  constraint allowance_line_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text),
  constraint allowance_line_wallet_check CHECK (wallet ~ '^0x[0-9a-f]{40}$'::text)
);
CREATE INDEX allowance_line_by_reading ON public.allowance_line USING btree (read_at NULLS FIRST);
CREATE TRIGGER allowance_line_keeps BEFORE UPDATE ON allowance_line FOR EACH ROW EXECUTE FUNCTION keep_allowance_line();
CREATE TRIGGER allowance_line_kept BEFORE DELETE ON allowance_line FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Transfers from wallets to the treasury. Each is one transaction.
create table allowance_draw (
  id text not null,
  account text not null,
  wallet text not null,
  amount bigint not null,
  chain_id bigint not null,
  asset text not null,
  treasury text not null,
  -- Planned: the draw waits for its review. Approved: it may be signed and sent. Settled: its tokens came and are a
  -- deposit. Failed: it was given up.
  state text not null default 'planned'::text,
  reason text,
  deposit text,
  tx_hash text,
  block bigint,
  planned_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  PRIMARY KEY (id),
  UNIQUE (deposit),
  FOREIGN KEY (account) REFERENCES allowance_line(account),
  FOREIGN KEY (deposit) REFERENCES deposit(id),
  constraint allowance_draw_amount_check CHECK (amount > 0),
  constraint allowance_draw_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text),
  constraint allowance_draw_failed CHECK ((state = 'failed'::text) <= (reason IS NOT NULL)),
  constraint allowance_draw_id_check CHECK (id ~ '^drw_[0-9A-Za-z_-]{1,64}$'::text),
  constraint allowance_draw_reason_check CHECK (length(reason) <= 200),
  constraint allowance_draw_settled CHECK ((state = 'settled'::text) = (deposit IS NOT NULL) AND (state = 'settled'::text) = (tx_hash IS NOT NULL) AND (state = 'settled'::text) = (block IS NOT NULL)),
  constraint allowance_draw_state_check CHECK (state = ANY (ARRAY['planned'::text, 'approved'::text, 'settled'::text, 'failed'::text])),
  constraint allowance_draw_treasury_check CHECK (treasury ~ '^0x[0-9a-f]{40}$'::text),
  constraint allowance_draw_tx_hash_check CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'::text),
  constraint allowance_draw_wallet_check CHECK (wallet ~ '^0x[0-9a-f]{40}$'::text)
);
CREATE INDEX allowance_draw_by_account ON public.allowance_draw USING btree (account, id);
CREATE UNIQUE INDEX allowance_draw_one_open ON public.allowance_draw USING btree (account) WHERE (state = ANY (ARRAY['planned'::text, 'approved'::text]));
CREATE TRIGGER allowance_draw_keeps BEFORE UPDATE ON allowance_draw FOR EACH ROW EXECUTE FUNCTION keep_allowance_draw();
CREATE TRIGGER allowance_draw_kept BEFORE DELETE ON allowance_draw FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Permits (EIP-2612) that wallets signed for the treasury. The treasury brings them to the chain.
create table allowance_permit (
  id text not null,
  account text not null,
  value numeric not null,
  nonce numeric not null,
  deadline timestamp with time zone not null,
  signature text not null,
  state text not null default 'signed'::text,
  signed_at timestamp with time zone not null default now(),
  changed_at timestamp with time zone not null default now(),
  PRIMARY KEY (id),
  FOREIGN KEY (account) REFERENCES allowance_line(account),
  constraint allowance_permit_id_check CHECK (id ~ '^prm_[0-9A-Za-z_-]{1,64}$'::text),
  constraint allowance_permit_nonce_check CHECK (nonce >= 0::numeric),
  constraint allowance_permit_signature_check CHECK (signature ~ '^0x[0-9a-f]{130}$'::text),
  constraint allowance_permit_state_check CHECK (state = ANY (ARRAY['signed'::text, 'used'::text, 'refused'::text])),
  constraint allowance_permit_value_check CHECK (value >= 0::numeric)
);
CREATE INDEX allowance_permit_by_account ON public.allowance_permit USING btree (account, id);
CREATE UNIQUE INDEX allowance_permit_one_open ON public.allowance_permit USING btree (account) WHERE (state = 'signed'::text);
CREATE TRIGGER allowance_permit_kept BEFORE DELETE ON allowance_permit FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- What providers bill their sellers, by UTC day, model and line.
create table provider_bill (
  seller_account text not null,
  provider text not null,
  day date not null,
  -- The provider's own name of the model.
  model text not null,
  -- The provider's word for a usage class or a line. Empty for the whole of a day and a model.
  line text not null,
  units bigint,
  -- In pico-USD.
  billed_pico bigint not null,
  source text not null,
  imported_at timestamp with time zone not null,
  PRIMARY KEY (seller_account, provider, day, model, line),
  FOREIGN KEY (provider) REFERENCES provider(id),
  FOREIGN KEY (seller_account) REFERENCES account(id),
  constraint provider_bill_billed_pico_check CHECK (billed_pico >= 0),
  constraint provider_bill_line_check CHECK (length(line) <= 200),
  constraint provider_bill_model_check CHECK (length(model) >= 1 AND length(model) <= 200),
  constraint provider_bill_source_check CHECK (source = ANY (ARRAY['file'::text, 'key'::text])),
  constraint provider_bill_units_check CHECK (units >= 0)
);
CREATE INDEX provider_bill_by_day ON public.provider_bill USING btree (day, provider);

CREATE OR REPLACE FUNCTION public.archive_floor()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(max(ends_before), '') from archived_month
$function$;

CREATE OR REPLACE FUNCTION public.archive_month(first_day date)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  suffix text := to_char(first_day, 'YYYY_MM');
  floor_id text := ulid_floor(first_day::timestamp at time zone 'UTC');
  end_id text := ulid_floor((first_day + interval '1 month') at time zone 'UTC');
  parent text;
  part text;
  id_column text;
  older text;
begin
  if first_day + interval '1 month' > (now() at time zone 'UTC') then
    raise exception 'the month is not over' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if not exists (select 1 from pg_inherits where inhrelid = to_regclass('settlement_' || suffix)) then
    return false;
  end if;
  select min(c.relname) into older from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'settlement'::regclass and c.relname ~ '_\d{4}_\d\d$' and c.relname < 'settlement_' || suffix;
  if older is not null then
    raise exception 'an older month is still attached: %', older using errcode = 'object_not_in_prerequisite_state';
  end if;
  if exists (select 1 from usage_poison where resolution is null and rid < end_id)
    or exists (select 1 from usage_conflict where resolved_at is null and rid < end_id) then
    raise exception 'events of this month wait for a person' using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- Nobody writes into an old month; should somebody try, the sums below are what counts.
  execute format('lock table %I, %I, %I in share mode', 'settlement_' || suffix, 'ledger_tx_' || suffix,
    'ledger_entry_' || suffix);
  execute format('insert into archived_month (month, ends_before, settlements, charged, entries)
    select $1, $2, (select count(*) from %1$I), (select coalesce(sum(charge), 0) from %1$I),
      (select count(*) from %2$I)', 'settlement_' || suffix, 'ledger_entry_' || suffix) using first_day, end_id;
  execute format('insert into carried_total (month, account, amount, entries)
    select $1, account, sum(amount), count(*) from %I group by account', 'ledger_entry_' || suffix) using first_day;
  foreach parent in array array['settlement', 'ledger_tx', 'ledger_entry'] loop
    part := parent || '_' || suffix;
    id_column := case parent when 'settlement' then 'rid' when 'ledger_tx' then 'id' else 'tx' end;
    execute format('alter table %I detach partition %I', parent, part);
    -- The triggers of the parent went with it.
    execute format('create trigger %I before insert or update or delete on %I for each row
      execute function refuse_change()', part || '_closed', part);
    -- An id of that month could only go to the default partition now.
    execute format('alter table %I drop constraint if exists %I', parent || '_default', parent || '_archived');
    execute format('alter table %I add constraint %I check (%I >= %L)', parent || '_default', parent || '_archived',
      id_column, end_id);
  end loop;
  perform write_archive_views();
  return true;
end $function$;

CREATE OR REPLACE FUNCTION public.buyer_day_of(of_day date)
 RETURNS SETOF buyer_day
 LANGUAGE sql
 STABLE
AS $function$
  select account, of_day, (started_at at time zone 'UTC')::date, model, key_id, provider, endpoint, outcome, served_by,
    count(*), sum(charge)::bigint, sum(list_cost)::bigint, sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(audio_input_tokens)::bigint, sum(output_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(audio_output_tokens)::bigint,
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1)
  group by 1, 3, 4, 5, 6, 7, 8, 9
$function$;

CREATE OR REPLACE FUNCTION public.buyer_hour_of(of_day date)
 RETURNS SETOF buyer_hour
 LANGUAGE sql
 STABLE
AS $function$
  select account, of_day, date_trunc('hour', started_at, 'UTC'), provider, endpoint, outcome, served_by,
    count(*), sum(charge)::bigint, sum(list_cost)::bigint, sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(audio_input_tokens)::bigint, sum(output_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(audio_output_tokens)::bigint,
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1)
  group by 1, 3, 4, 5, 6, 7
$function$;

CREATE OR REPLACE FUNCTION public.check_entries()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  wrong text;
begin
  select min(tx) into wrong from (select tx from entries group by tx having sum(amount) <> 0) unbalanced;
  if wrong is not null then
    raise exception 'the entries of % do not sum to zero', wrong
      using errcode = 'check_violation', constraint = 'ledger_entry_sum_zero';
  end if;
  select min(e.account) into wrong from (select distinct account from entries) e
    where (select count(*) from account a where a.id = e.account) = 0;
  if wrong is not null then
    raise exception 'there is no account %', wrong
      using errcode = 'foreign_key_violation', constraint = 'ledger_entry_account';
  end if;
  -- An entry added later would change what the transaction was, even if the sum stayed zero.
  select min(n.tx) into wrong from (select tx, count(*) as lines from entries group by tx) n
    where (select count(*) from ledger_tx t where t.id = n.tx) = 0
      or (select count(*) from ledger_entry e where e.tx = n.tx) <> n.lines;
  if wrong is not null then
    raise exception 'the transaction % does not exist or was written before', wrong
      using errcode = 'foreign_key_violation', constraint = 'ledger_entry_once';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.day_floor(day date)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select ulid_floor(day::timestamp at time zone 'UTC')
$function$;

CREATE OR REPLACE FUNCTION public.end_session_secrets()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into key_change (key_id) select distinct key_id from key_session_secret
    where session_id = old.id and expires_at > created_at;
  update key_session_secret set expires_at = created_at where session_id = old.id;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION public.guard_partition(parent text, part text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  execute format('create trigger %I before truncate on %I for each statement execute function refuse_change()',
    part || '_not_truncated', part);
  if parent = 'ledger_entry' then
    execute format('create trigger %I after insert on %I referencing new table as entries
      for each statement execute function check_entries()', part || '_checked', part);
  elsif parent = 'settlement' then
    execute format('create trigger %I after insert on %I referencing new table as added
      for each statement execute function note_late_usage()', part || '_late', part);
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.is_usage_day_right(of_day date)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select 1 from usage_late where day = of_day)
    or not exists ((select * from buyer_hour where day = of_day except all select * from buyer_hour_of(of_day))
      union all (select * from buyer_hour_of(of_day) except all select * from buyer_hour where day = of_day))
    and not exists ((select * from buyer_day where day = of_day except all select * from buyer_day_of(of_day))
      union all (select * from buyer_day_of(of_day) except all select * from buyer_day where day = of_day))
    and not exists ((select * from seller_day where day = of_day except all select * from seller_day_of(of_day))
      union all (select * from seller_day_of(of_day) except all select * from seller_day where day = of_day))
$function$;

CREATE OR REPLACE FUNCTION public.keep_account_identity()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.id <> old.id or new.kind <> old.kind or new.owner is distinct from old.owner then
    raise exception 'an account keeps its id, kind and owner' using errcode = 'restrict_violation';
  end if;
  if new.version < old.version or (new.version = old.version and new.balance <> old.balance) then
    raise exception 'a balance moves only with its version' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_allowance_draw()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.id, new.account, new.wallet, new.amount, new.chain_id, new.asset, new.treasury) is distinct from
     (old.id, old.account, old.wallet, old.amount, old.chain_id, old.asset, old.treasury)
     or (old.state = 'settled' and (new.state, new.deposit) is distinct from (old.state, old.deposit))
     or (old.state = 'failed' and new.state not in ('failed', 'settled'))
     or (old.state = 'approved' and new.state = 'planned') then
    raise exception 'a draw keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_allowance_line()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.account, new.wallet, new.advance) is distinct from (old.account, old.wallet, old.advance) then
    raise exception 'a line keeps its account' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_chain_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.rid, new.rail, new.network, new.asset, new.payer, new.nonce, new.account, new.amount, new.payload) is distinct from
     (old.rid, old.rail, old.network, old.asset, old.payer, old.nonce, old.account, old.amount, old.payload)
     or (old.due is not null and new.due is distinct from old.due
         and not (old.state = 'mined' and new.state = 'confirmed' and new.due > old.due))
     or (old.event is not null and new.event is distinct from old.event)
     or (old.booked_at is not null and (new.state, new.booked_at) is distinct from (old.state, old.booked_at)
         and not (old.state in ('written_off', 'released') and new.state = 'mined' and new.booked_at is null)) then
    raise exception 'a payment keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_closed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.closed_at is not null then
    raise exception 'a closed workspace stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_debit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.key, new.account, new.amount, new.tx, new.kind, new.entries) is distinct from
     (old.key, old.account, old.amount, old.tx, old.kind, old.entries)
     or (old.state = 'posted' and new.state <> 'posted') then
    raise exception 'a debit keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_deposit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.id, new.account, new.method, new.sender, new.nonce, new.valid_until, new.chain_id, new.asset, new.treasury)
       is distinct from
     (old.id, old.account, old.method, old.sender, old.nonce, old.valid_until, old.chain_id, old.asset, old.treasury)
     or (old.state = 'credited' and (new.state, new.amount) is distinct from (old.state, old.amount))
     or (old.signature is not null and new.signature is distinct from old.signature) then
    raise exception 'a deposit keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_epoch_rising()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.epoch < old.epoch or new.harvested < old.harvested then
    raise exception 'the money epoch only rises' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_job()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.rid, new.account, new.seller_account, new.escrow_account, new.quote, new.payload_hash) is distinct from
     (old.rid, old.account, old.seller_account, old.escrow_account, old.quote, old.payload_hash)
     or (old.ended_at is not null and new.ended_at is distinct from old.ended_at)
     or new.paid < old.paid or (old.ended_at is not null and new.paid <> old.paid) then
    raise exception 'a job keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_revoked()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at then
    raise exception 'a revoked key stays revoked' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_treasury_move()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.chain_id, new.asset, new.treasury, new.era, new.direction, new.tx_hash, new.place, new.party, new.amount, new.nonce)
       is distinct from
     (old.chain_id, old.asset, old.treasury, old.era, old.direction, old.tx_hash, old.place, old.party, old.amount, old.nonce)
     or (old.permit_nonce is not null
         and (new.permit_nonce, new.permit_by) is distinct from (old.permit_nonce, old.permit_by))
     or (old.kind not in ('new', 'unknown') and (old.kind <> 'payment' or old.ref is not null)
         and (new.kind, new.ref) is distinct from (old.kind, old.ref)) then
    raise exception 'a move of the treasury keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_treasury_transfer()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (new.id, new.purpose, new.seller, new.in_flight, new.recipient, new.amount, new.mode, new.nonce, new.number)
       is distinct from
     (old.id, old.purpose, old.seller, old.in_flight, old.recipient, old.amount, old.mode, old.nonce, old.number)
     or (old.ended_at is not null and new is distinct from old)
     or (old.found_at is not null and new.found_at is distinct from old.found_at)
     or (old.signature is not null and (new.signature is null
       or (new.chain_id, new.asset, new.treasury) is distinct from (old.chain_id, old.asset, old.treasury)
       or new.valid_until < old.valid_until)) then
    raise exception 'a transfer keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.keep_wallet()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.wallet is not null and new.wallet is distinct from old.wallet then
    raise exception 'a user keeps its wallet' using errcode = 'restrict_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.make_month_partitions(from_at timestamp with time zone, months_ahead integer)
 RETURNS SETOF text
 LANGUAGE plpgsql
AS $function$
declare
  parent text;
  part text;
  month timestamp;
begin
  foreach parent in array array['ledger_tx', 'ledger_entry', 'settlement'] loop
    for ahead in -1..months_ahead loop
      month := date_trunc('month', from_at at time zone 'UTC') + make_interval(months => ahead);
      part := parent || '_' || to_char(month, 'YYYY_MM');
      continue when to_regclass(part) is not null;
      -- Made alone and attached: that takes a weaker lock on the parent than creating it in place.
      execute format('create table %I (like %I including defaults including constraints)', part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, ulid_floor(month at time zone 'UTC'), ulid_floor((month + interval '1 month') at time zone 'UTC'));
      perform guard_partition(parent, part);
      return next part;
    end loop;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION public.note_cap_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into offer_cap_change (offer, cap_daily_micro) values (old.id, old.cap_daily_micro);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_late_usage()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  today text := day_floor((now() at time zone 'UTC')::date);
begin
  insert into usage_late (account, day)
    select distinct side.account, ulid_day(a.rid)
    from added a cross join lateral (values (a.account), (a.seller_account)) side (account)
    where a.rid < today and side.account is not null;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% rows are never changed or deleted', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_closed_workspace(workspace text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform 1 from workspace w where w.id = workspace and w.closed_at is null for share;
  if not found then
    raise exception 'the workspace was closed in the meantime' using errcode = 'serialization_failure';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_key_of_closed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform refuse_closed_workspace(new.workspace_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.refuse_offer_of_closed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  home text;
begin
  select w.id into home from workspace w where w.seller_account = new.seller_account;
  if found then perform refuse_closed_workspace(home); end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.seller_day_of(of_day date)
 RETURNS SETOF seller_day
 LANGUAGE sql
 STABLE
AS $function$
  select seller_account, of_day, (started_at at time zone 'UTC')::date, model, count(*), sum(seller_net)::bigint,
    sum(input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens)::bigint,
    sum(output_tokens + reasoning_tokens + audio_output_tokens)::bigint, max(rid),
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint, sum(charge)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1) and seller_account is not null
    and (charge > 0 or outcome = 'succeeded')
  group by 1, 3, 4
$function$;

CREATE OR REPLACE FUNCTION public.sketch_bucket(value double precision)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select case when value > 0
    then greatest(-32767, least(32767, ceil(ln(value) / ln(1.01::double precision / 0.99))))::smallint
    else (-32768)::smallint end
$function$;

CREATE OR REPLACE FUNCTION public.sum_before_archive()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  next_month date := (new.month + interval '1 month')::date;
  summed date := (select coalesce(before, new.month) from usage_summed);
  of_day date;
begin
  for of_day in select day from generate_series(new.month, next_month - 1, interval '1 day') days(day)
    where day::date >= summed or exists (select 1 from usage_late l where l.day = days.day::date)
  loop
    perform sum_usage_day(of_day);
  end loop;
  update usage_summed set before = greatest(summed, next_month);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION public.sum_usage_day(of_day date)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  delete from usage_late where day = of_day;
  delete from buyer_hour where day = of_day;
  delete from buyer_day where day = of_day;
  delete from seller_day where day = of_day;
  insert into buyer_hour select * from buyer_hour_of(of_day) s order by s.account, s.hour;
  insert into buyer_day select * from buyer_day_of(of_day) s order by s.account;
  insert into seller_day select * from seller_day_of(of_day) s order by s.account;
end $function$;

CREATE OR REPLACE FUNCTION public.ulid_day(ulid text)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select (ulid_time(ulid) at time zone 'UTC')::date
$function$;

CREATE OR REPLACE FUNCTION public.ulid_floor(at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE STRICT
AS $function$
declare
  rest bigint := floor(extract(epoch from at) * 1000);
  head text := '';
begin
  for digit in 1..10 loop
    head := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (rest % 32)::int + 1, 1) || head;
    rest := rest / 32;
  end loop;
  return head || repeat('0', 16);
end $function$;

CREATE OR REPLACE FUNCTION public.ulid_time(ulid text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  ms bigint := 0;
begin
  for digit in 1..10 loop
    ms := ms * 32 + position(substr(ulid, digit, 1) in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1;
  end loop;
  return to_timestamp(ms / 1000.0);
end $function$;

CREATE OR REPLACE FUNCTION public.write_archive_views()
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  part record;
  columns text;
begin
  for part in select * from (values ('ledger_tx', 'every_ledger_tx'), ('ledger_entry', 'every_ledger_entry'),
      ('settlement', 'every_settlement')) v(parent, name) loop
    select string_agg(quote_ident(attname), ', ' order by attnum) into columns
      from pg_attribute where attrelid = part.name::regclass and attnum > 0 and not attisdropped;
    execute format('create or replace view %I as select %s from %I%s', part.name, columns, part.parent,
      coalesce((select string_agg(format(' union all select %s from %I', columns,
        part.parent || '_' || to_char(month, 'YYYY_MM')), '' order by month) from archived_month), ''));
  end loop;
end $function$;
