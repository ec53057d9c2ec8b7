import type { Mutant } from './mutant.ts'
import { mutant, tests } from './mutant.ts'

const BEDROCK = 'shared/protocols/bedrock'
const HOSTS = 'shared/catalog/provider-hosts.ts'

const ANSWER_TEST = tests('wires/bedrock')
const SIGNATURE_TEST = tests('unit/bedrock-signature')
const HOSTS_TEST = tests('unit/provider-hosts')

/** Mistakes in Converse: its bill, its host and its signature. */
export const BEDROCK_MUTANTS: readonly Mutant[] = [
  mutant('figures-behind-the-stop-reason-are-missed', ANSWER_TEST, `${BEDROCK}/reader.ts#takeMessage`, {
    'takeFinish(state, payload)': 'takeFinish(state, payload)\n      state.isDone = true',
  }),
  mutant('a-cache-of-converse-is-counted-twice', ANSWER_TEST, `${BEDROCK}/usage.ts#mergeConverseUsage`, {
    'inputTokens + (counts.cachedTokens ?? 0)': 'inputTokens + 2 * (counts.cachedTokens ?? 0)',
  }),
  mutant('a-checksum-of-a-message-is-not-compared', ANSWER_TEST, `${BEDROCK}/event-stream.ts#takeMessage`, {
    'crc32(message.subarray(0, end)) !== message.readUInt32BE(end)': 'message.length < CHECKSUM_BYTES',
  }),
  mutant('a-bucket-is-taken-for-a-region', HOSTS_TEST, HOSTS, {
    "const AWS_REGION = '[a-z]{2}(?:-[a-z]{2,12}){1,2}-[1-9]\\\\d?'": 'const AWS_REGION = OWN_NAME',
  }),
  mutant('a-signature-is-good-for-any-region', SIGNATURE_TEST, `${BEDROCK}/signature.ts#signRequest`, {
    'const region = regionOf(request.host)': 'const region = USUAL_REGION',
  }),
  mutant('a-secret-of-a-pair-is-not-looked-for', SIGNATURE_TEST, `${BEDROCK}/credential.ts`, {
    '[secret, token, id]': '[token, id]',
  }),
]
