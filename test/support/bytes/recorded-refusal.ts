import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'

type Class = UpstreamFailure['errorClass']

/**
 * A refusal as a provider sends it: status, body, the right class, and the class inside an answer of status 200, where
 * only the body can be read. A row without the last class has a body that shows no class.
 */
export type RecordedRefusal = readonly [of: string, status: number, body: unknown, right: Class, inside?: Class]

export const openAiRefusal = (
  message: string,
  type: string | null,
  code: string | null,
  param: string | null = null,
) => ({
  error: { message, type, param, code },
})

export const NO_KEY = 'credential_rejected'
export const NO_ACCOUNT = 'account_rejected'
export const NO_QUOTA = 'quota_exhausted'
export const NO_REGION = 'region_rejected'
export const NO_ACCESS = 'access_rejected'
