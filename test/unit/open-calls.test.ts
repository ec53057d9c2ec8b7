import { describe, expect, it } from 'vitest'
import { captureOf } from '#data-plane/store/open-calls.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'

describe('the capture of a journalled event', () => {
  it('belongs to its call', () => {
    const event = usageEvent({ charge: 700 })
    expect(captureOf(JSON.stringify(event), 'n1')).toMatchObject({ rid: event['rid'], usedMicro: 700n, node: 'n1' })
  })

  it('of the end of a job is a capture of zero under the end’s own id: the money left the balance at the submit', () => {
    const event = usageEvent({ charge: 700 })
    const rid = jobEndId(String(event['rid']))
    const capture = captureOf(JSON.stringify({ ...event, kind: 'end', rid }), 'n1')
    expect(capture).toMatchObject({ rid, usedMicro: 0n })
  })

  it('is missing where the bytes are no event', () => {
    expect(captureOf('{"rid":', 'n1')).toBeUndefined()
    expect(captureOf(JSON.stringify({ ...usageEvent(), kind: 'end', rid: 'x'.repeat(26) }), 'n1')).toBeUndefined()
  })
})
