import { id, nullable, oneOf, text, timestamp } from './column.ts'

/** The uses of a link: it signs in, or adds its address to an account. */
export const EMAIL_PURPOSES = ['sign_in', 'add'] as const
export type EmailPurpose = (typeof EMAIL_PURPOSES)[number]

/** Tables of `0221_email_sign_in.sql`. */
export const EMAIL_TABLES = {
  email_address: {
    id: id('eml'),
    user_id: id('usr'),
    address: text(),
    created_at: timestamp(),
    last_used_at: nullable(timestamp()),
  },
  email_link: {
    hash: text(),
    address: text(),
    purpose: oneOf(EMAIL_PURPOSES),
    user_id: nullable(id('usr')),
    browser_hash: text(),
    created_at: timestamp(),
    expires_at: timestamp(),
  },
}
