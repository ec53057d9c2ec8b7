import { describe, expect, it } from 'vitest'
import { foreignHost } from '#data-plane/http/gate.ts'
import { createRowIndex } from '#data-plane/http/row-index.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { SURFACE_ROWS } from '#test/support/facts/surface-rows.ts'

const index = createRowIndex(SURFACE_ROWS, { envelope: openAiEnvelope })

describe('the rows of the surface', () => {
  it('never have a path and a method twice', () => {
    const names = SURFACE_ROWS.flatMap(({ methods, path }) =>
      methods.map((method) => `${method} ${path.replace(/[:*]\w+/, '*')}`),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  it('refuse in the format of their own protocol', () => {
    for (const { path, envelope, serves } of SURFACE_ROWS) {
      const wire = serves.kind === 'local' ? serves : 'wire' in serves ? serves.wire : undefined
      if (wire !== undefined) expect([path, wire.envelope]).toEqual([path, envelope])
    }
  })

  it('name one rail each, and whether one attempt may follow another', () => {
    const sold = SURFACE_ROWS.flatMap(({ path, serves }) =>
      serves.kind === 'call' || serves.kind === 'job-submit' ? [{ path, ...serves }] : [],
    )
    expect(sold.length).toBeGreaterThan(9)
    for (const { path, kind, rails, failover } of sold) {
      const said = { path, rails: rails.length > 0, failover }
      // A request that a provider may act on is never sent twice.
      const isForwarded = path.startsWith('/resources/') || /^\/x402\/(?:resources|api\/(?!inference))/.test(path)
      const until = kind === 'call' && !isForwarded ? 'until-content' : 'until-connected'
      expect(said).toEqual({ path, rails: true, failover: until })
    }
  })
})

describe('a path without a row', () => {
  it.each([
    ['/v1/chat/completions', ['POST'], undefined],
    ['/min5/v1/chat/completions', ['POST'], '5'],
    ['/minus/v1/chat/completions', ['POST'], 'us'],
    ['/min5/min6/v1/chat/completions', [], '/min6/v1/chat/completions'],
    ['/compat/min5/v1/messages', ['POST'], '5'],
    ['/min5/compat/v1/messages', [], '5'],
    ['/min5/v1/embeddings', [], '5'],
    ['/min5/v1/models', ['GET', 'HEAD'], '5'],
    ['/v1/models/some/model', ['GET', 'HEAD'], undefined],
    ['/v1/models', ['GET', 'HEAD'], undefined],
    ['/v1/video/generations/job_1', ['GET', 'HEAD', 'DELETE'], undefined],
    ['/v1/video/generations/job_1/more', [], undefined],
    ['/v1/nothing', [], undefined],
  ])('%s takes %j', (path, methods, floor) => {
    const found = index.find(path)
    expect([found.rows.flatMap((row) => row.methods), found.floor?.text]).toEqual([methods, floor])
  })

  it.each([
    ['/v1/nothing', openAiEnvelope, 'api'],
    ['/compat', messagesEnvelope, 'api'],
    ['/compat/v1/nothing', messagesEnvelope, 'api'],
    ['/compatible', openAiEnvelope, 'both'],
    ['/api/inference/nothing', openAiEnvelope, 'base'],
    ['/api/nothing', openAiEnvelope, 'both'],
    ['/health/nothing', openAiEnvelope, 'both'],
    ['/', openAiEnvelope, 'both'],
  ] as const)('%s has the format of the rows with the same beginning', (path, envelope, host) => {
    const family = index.familyOf(path)
    expect([family.envelope, family.host]).toEqual([envelope, host])
    expect(family.idHeader).toBe(envelope === messagesEnvelope ? 'request-id' : undefined)
  })
})

it('a host is foreign when only the other plane answers it', () => {
  const hosts = { base: 'site.example', api: 'api.site.example' }
  expect([foreignHost(hosts, 'api'), foreignHost(hosts, 'base'), foreignHost(hosts, 'both')]).toEqual([
    'site.example',
    'api.site.example',
    undefined,
  ])
  expect(foreignHost({ base: 'one.example', api: 'one.example' }, 'api')).toBeUndefined()
})
