import { createEmailLink, readEmailLink } from '#control-plane/services/sign-in/email-link.ts'
import { createEmailSession } from '#control-plane/services/sign-in/email-session.ts'
import { createEmail, removeEmail } from '#control-plane/services/sign-in/emails.ts'
import { SIGNED_IN } from './auth.ts'
import type { RestRow } from './route.ts'
import { restRow } from './route.ts'

/** Signing in with a link by e-mail, and the addresses of an account. */
export const EMAIL_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: '/v1/auth/email-link',
    tag: 'Sign-in',
    refusals: [401, 403, 404],
    status: 202,
    envelope: 'v1',
    operation: createEmailLink,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/email-link/read',
    tag: 'Sign-in',
    refusals: [401, 403, 404],
    envelope: 'v1',
    operation: readEmailLink,
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/email-session',
    tag: 'Sign-in',
    refusals: [401, 403, 404, 409],
    status: 201,
    envelope: 'v1',
    operation: createEmailSession,
    body: SIGNED_IN,
    session: ({ token }) => token.reveal(),
  }),
  restRow({
    method: 'POST',
    path: '/v1/auth/emails',
    tag: 'Sign-in',
    refusals: [401, 404, 409],
    status: 201,
    envelope: 'v1',
    operation: createEmail,
  }),
  restRow({
    method: 'DELETE',
    path: '/v1/auth/emails/:email',
    tag: 'Sign-in',
    refusals: [403, 404, 409],
    envelope: 'v1',
    operation: removeEmail,
  }),
]
