import { expect, it } from 'vitest'
import { JobRecordSchema } from '#shared/contract/job-record.ts'
import { AttemptSchema } from '#shared/contract/usage-event.ts'

it('a job keeps each attempt as the event of a call has it, so that its submit and its end agree', () => {
  const attempt = { offer: 'ofr_1', provider: 'a', status: 200, ms: 90, connectMs: 42, errorClass: null }
  expect(JobRecordSchema.shape.attempts.parse([attempt])).toEqual([AttemptSchema.parse(attempt)])
  expect(AttemptSchema.parse(attempt)).toEqual(attempt)
})
