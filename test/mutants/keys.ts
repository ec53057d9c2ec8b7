import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const AUTHENTICATE = 'control-plane/services/sign-in/authenticate.ts'
const LIMITS = 'control-plane/services/keys/key-limits.ts'
const TEST = tests('services/key-limits')

/** Mistakes that let a frozen key spend, keep a key frozen for ever, or let a stranger read a workspace. */
export const KEY_MUTANTS: readonly Mutant[] = [
  mutant('a-frozen-key-calls', tests('services/data-plane-stores'), 'data-plane/store/buyer-keys.ts#check', {
    "  if (record.isFrozen) throw new AppError('key_frozen')\n": '',
  }),
  mutant('a-freeze-is-not-published', TEST, 'control-plane/db/key-store.ts', {
    'k.frozen_at is not null as "isFrozen"': 'false as "isFrozen"',
  }),
  mutant('a-frozen-key-unfreezes-itself', TEST, `${AUTHENTICATE}#useKey`, {
    '  requireThawed(key)\n': '',
  }),
  mutant('a-frozen-key-signs-browsers-in', TEST, 'control-plane/services/sign-in/key-session.ts', {
    '      requireThawed(key)\n': '',
  }),
  mutant('a-change-of-limits-unfreezes', TEST, `${LIMITS}#changeKey`, {
    'row.frozenAt?.getTime() ?? (patch.isFrozen ? now : null)': 'patch.isFrozen ? now : null',
  }),
  mutant('an-unfrozen-key-stays-frozen', TEST, `${LIMITS}#changeKey`, {
    'patch.isFrozen === false ? null : ': '',
  }),
  mutant(
    'workspaces-of-others-are-offered',
    tests('doors/organizations'),
    'control-plane/db/workspaces.ts#listWorkspacesOf',
    {
      ".where('m.user_id', '=', user)": ".where('m.user_id', '<>', user)",
    },
  ),
]
