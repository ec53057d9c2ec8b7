import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const PLAYGROUND = 'control-plane/services/keys/playground.ts'
const TEST = tests('doors/playground')

/** Mistakes by which a playground would spend more than its session may, or for longer. */
export const PLAYGROUND_MUTANTS: readonly Mutant[] = [
  mutant('a-key-opens-a-playground', TEST, `${PLAYGROUND}#sessionOf`, {
    'const id = session ?? keySession':
      "const id = session ?? keySession ?? ('ses_01K00000000000000000000000' as SessionId)",
  }),
  mutant('a-session-of-a-key-pays-with-another-key', TEST, `${PLAYGROUND}#keyOf`, {
    'if (actor.keyId !== null) {': 'if (actor.keyId === null) {',
  }),
  mutant('a-playground-begins-without-a-cap', TEST, `${PLAYGROUND}#keyOf`, {
    'capDailyMicro: FIRST_CAP': 'capDailyMicro: null',
  }),
  mutant('a-playground-loses-its-cap', TEST, 'control-plane/services/keys/key-limits.ts#requirePlaygroundBounds', {
    'capDailyUsd === null': 'capDailyUsd === 0',
  }),
  mutant('a-playground-key-gets-a-secret-to-keep', TEST, 'control-plane/services/keys/key-rotation.ts', {
    'if (before.isPlayground)': 'if (before.isPlayground && windowSeconds < 0)',
  }),
  mutant('a-session-has-secrets-without-end', TEST, `${PLAYGROUND}#openPlayground`, {
    'await endOldSessionSecrets(trx, session, MAX_SECRETS)':
      'await endOldSessionSecrets(trx, session, MAX_SECRETS * 9)',
  }),
  mutant('a-secret-outlives-its-session', TEST, `${PLAYGROUND}#openPlayground`, {
    '          held.expiresAt.getTime(),\n': '',
  }),
  mutant('a-secret-outlives-its-key', TEST, `${PLAYGROUND}#openPlayground`, {
    'key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY': 'Number.POSITIVE_INFINITY',
  }),
  mutant('a-secret-is-opened-while-its-session-ends', TEST, 'control-plane/db/session-secrets.ts#lockSession', {
    '.forUpdate()': '',
  }),
  mutant('a-secret-opens-the-account', TEST, 'control-plane/db/keys.ts#findKeyByHash', {
    'select key_id, expires_at from key_former_secret': 'select key_id, expires_at from key_session_secret',
  }),
  mutant('secrets-of-a-session-are-not-published', TEST, 'control-plane/db/key-store.ts', {
    'union all select p.hash, p.expires_at from key_session_secret p where p.key_id = k.id': '',
  }),
]
