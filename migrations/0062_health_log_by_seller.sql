-- The health log is read by seller; and sellers, operators and probes write to it as well as the data plane.

alter table health_log add column seller_account text collate "C";
update health_log set seller_account = (select seller_account from offer where offer.id = health_log.offer);
create index health_log_by_seller on health_log (seller_account, at, id);
create index health_log_by_age on health_log (at);

alter table health_log drop constraint health_log_action_check;
alter table health_log add constraint health_log_action_check check (action in
  ('counted', 'backed_off', 'recovered', 'flagged', 'reset', 'credential_rotated', 'delisted', 'restored'));
