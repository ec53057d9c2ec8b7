-- The operator's own money in the treasury. Sellers are paid in the token also for calls that buyers paid in other money,
-- so the operator brings tokens in.
alter table account drop constraint account_kind_check, add constraint account_kind_check check (kind in (
    'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight',
    'platform_fee', 'platform_shortfall', 'platform_capital', 'external_usdc', 'external_fiat', 'promo'));
alter table account drop constraint account_not_overdrawn, add constraint account_not_overdrawn check (
    balance >= 0 or kind not in (
      'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight', 'platform_capital'));
alter table account drop constraint account_owner_known, add constraint account_owner_known check (
    (owner is null) = (kind in (
      'platform_fee', 'platform_shortfall', 'platform_capital', 'external_usdc', 'external_fiat', 'promo')));
insert into account (id, kind) values ('acc_platform_capital', 'platform_capital');
