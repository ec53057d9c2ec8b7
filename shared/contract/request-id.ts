import { z } from 'zod'
import type { RequestId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'

/** A request id in the contract: a ULID of 26 characters. */
export const RequestId26 = z.string().refine((text): text is RequestId => parseRequestId(text) !== undefined, 'no id')
