import { once } from 'node:events'
import type { LookupFunction } from 'node:net'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guardedLookup as controlPlaneLookup } from '#control-plane/ports/outbound/guarded-lookup.ts'
import { guardedLookup as dataPlaneLookup } from '#data-plane/upstream/send.ts'

const PUBLIC = '93.184.215.14'
const HOME = '127.0.0.1'
/** Loopback addresses count as public, so that a test can dial them. */
const OPEN = { allowsLoopback: true }
const STRICT = { allowsLoopback: false }

const server = createServer((socket) => socket.end())
let port = 0
beforeAll(async () => {
  server.listen(0, HOME)
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
})
afterAll(() => void server.close())

/** A name server with a list of answers, one a question. It counts the questions. */
function names(...answers: readonly (readonly string[])[]) {
  let asked = 0
  return {
    asked: () => asked,
    resolve: (_name: string, _options: object, told: (error: null, addresses: Address[]) => void) => {
      const addresses = answers[Math.min(asked++, answers.length - 1)] ?? []
      told(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
  }
}
type Address = { address: string; family: number }

/** The addresses to which a connection would be made. */
function found(lookup: LookupFunction): Promise<unknown> {
  return new Promise((resolve) => {
    lookup('name.example', { all: true }, (error, addresses) => resolve(error === null ? addresses : 'refused'))
  })
}

describe.each([
  ['data', dataPlaneLookup],
  ['control', controlPlaneLookup],
] as const)('a name that the %s plane dials', (_plane, guardedLookup) => {
  it.each([
    ['this machine', [HOME]],
    ['a private network', ['10.0.0.7']],
    ["the address of a cloud's metadata service", ['169.254.169.254']],
    ['an encoded private address', ['::ffff:127.0.0.1']],
    ['a public and a private address', [PUBLIC, '192.168.1.1']],
    ['nothing', []],
  ])('and that resolves to %s is refused', async (_name, addresses) => {
    expect(await found(guardedLookup(STRICT, names(addresses).resolve))).toBe('refused')
  })

  it('is dialled at the address that was checked, even when the name changes afterwards', async () => {
    const changing = names([PUBLIC], [HOME])
    const lookup = guardedLookup(STRICT, changing.resolve)
    expect(await found(lookup)).toEqual([{ address: PUBLIC, family: 4 }])
    expect(changing.asked()).toBe(1)
    expect(await found(lookup)).toBe('refused')
  })

  it('is resolved once a connection, and the answer is the address of the peer', async () => {
    const changing = names([HOME], ['127.0.0.2'])
    const socket = connect({ host: 'name.example', port, lookup: guardedLookup(OPEN, changing.resolve) })
    await once(socket, 'connect')
    expect([socket.remoteAddress, changing.asked()]).toEqual([HOME, 1])
    socket.destroy()
  })
})
