import { bigint, bytes, id, nullable, text, timestamp } from './column.ts'

/** Tables of `0207_passkeys.sql`. */
export const PASSKEY_TABLES = {
  passkey: {
    id: id('psk'),
    user_id: id('usr'),
    /** In base64url. */
    credential_id: text(),
    /** As COSE writes it. */
    public_key: bytes(),
    counter: bigint(),
    label: text(),
    created_at: timestamp(),
    last_used_at: nullable(timestamp()),
  },
  recovery_code: { user_id: id('usr'), hash: text(), created_at: timestamp() },
}
