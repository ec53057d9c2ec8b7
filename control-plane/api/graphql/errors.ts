import { ERRORS } from '#shared/error-table.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { ERROR_CODES } from '#shared/errors.ts'
import { builder } from './builder.ts'

const Code = builder.enumType('ErrorCode', {
  description: 'Every code that `extensions.code` of our errors may have; the same at every door.',
  values: ERROR_CODES,
})

const Kind = builder.objectRef<ErrorCode>('ErrorKind').implement({
  description: 'An error code: its HTTP status, and its default message.',
  fields: (t) => ({
    code: t.field({ type: Code, resolve: (code) => code }),
    status: t.int({ resolve: (code) => ERRORS[code].status }),
    message: t.string({ resolve: (code) => ERRORS[code].message }),
  }),
})

builder.queryFields((t) => ({
  errorKinds: t.field({ type: [Kind], resolve: () => ERROR_CODES }),
}))
