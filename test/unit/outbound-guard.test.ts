import { describe, expect, it } from 'vitest'
import { checkOutboundUrl, checkPublicUrl, isDialable } from '#shared/outbound-guard.ts'

const hosts = new Set(['allowed.host'])
const production = { allowsLoopback: false }
const development = { allowsLoopback: true }

describe('outbound URLs', () => {
  it.each([
    ['http://allowed.host/'],
    ['https://127.0.0.1/'],
    ['https://017700000001/'],
    ['https://2130706433/'],
    ['https://[::]/'],
    ['https://[::ffff:127.0.0.1]/'],
    ['https://[fe80::1]/'],
    ['https://[fc00::1]/'],
    ['https://169.254.169.254/latest/meta-data/'],
    ['https://metadata.google.internal/'],
    ['https://012.1.2.3/'],
    ['https://１２７.０.０.１/'],
    ['https://allowed.host\\@127.0.0.1/'],
    ['https://allowed.host:22/'],
    ['https://allowed.host:6379/'],
    ['https://allowed.host:8443/'],
    ['https://allowed.host:0/'],
    ['https://allowed.host:99999/'],
    ['https:127.0.0.1'],
    ['https:///127.0.0.1'],
    ['//127.0.0.1'],
    ['file:///etc/passwd'],
    ['gopher://allowed.host/'],
    ['ftp://allowed.host/'],
    ['dict://allowed.host:11211/stat'],
    ['unix:/var/run/a.sock'],
    ['data:text/plain,x'],
    ['javascript:alert(1)'],
    ['https://user:pass@allowed.host/'],
    ['https://allowed.host./'],
    ['https://x.allowed.host/'],
    ['https://allowed.host.evil.example/'],
    ['https://allowed.host/#x'],
    ['https://%61llowed.host/'],
    ['https://allowed\t.host/'],
    [`https://allowed.host/${'x'.repeat(3_000)}`],
  ])('%s is refused', (url) => {
    expect(checkOutboundUrl(url, hosts, production)).toBeUndefined()
    expect(checkOutboundUrl(url, hosts, development)).toBeUndefined()
  })

  it('allows exactly the listed host', () => {
    expect(checkOutboundUrl('https://allowed.host/v1', hosts, production)?.href).toBe('https://allowed.host/v1')
    expect(checkOutboundUrl('https://ALLOWED.host/v1', hosts, production)?.host).toBe('allowed.host')
  })

  it('allows a listed loopback host in development only', () => {
    const local = new Set(['127.0.0.11:9000'])
    expect(checkOutboundUrl('http://127.0.0.11:9000/v1', local, development)?.port).toBe('9000')
    expect(checkOutboundUrl('http://127.0.0.11:9000/v1', local, production)).toBeUndefined()
    expect(checkOutboundUrl('http://127.0.0.12:9000/v1', local, development)).toBeUndefined()
  })
})

describe('URLs of public hosts', () => {
  it('have a name in public DNS', () => {
    const inner = [
      'localhost',
      'files',
      'a.localhost',
      'db.internal',
      'nas.local',
      'localhost.localdomain',
      'LOCALHOST.LocalDomain',
      'localhost6.localdomain6',
      'hooks.test',
      'hooks.invalid',
      'a.localtest.me',
      'lvh.me',
      '127.0.0.1.nip.io',
      '10-0-0-1.sslip.io',
      'fritz.box',
      'box.home.arpa',
      'x.onion',
      '10.0.0.1',
    ]
    for (const host of inner) expect(checkPublicUrl(`https://${host}/x`, production), host).toBeUndefined()
    for (const host of ['internal.example', 'local.example.com', 'cdn.files.example']) {
      expect(checkPublicUrl(`https://${host}/x?y=1`, production)?.host).toBe(host)
    }
    expect(checkPublicUrl('http://cdn.files.example/x', production)).toBeUndefined()
    expect(checkPublicUrl('http://localhost:9000/x', production)).toBeUndefined()
    expect(checkPublicUrl('http://localhost:9000/x', development)?.port).toBe('9000')
  })
})

describe('addresses', () => {
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.168.0.1',
    '198.19.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:7f00:1',
    '::8.8.8.8',
    '64:ff9b::808:808',
    '2001::1',
    '2001:db8::1',
    '2002:808:808::1',
    'fc00::1',
    'fe80::1%eth0',
    // The site-local range, which the registries have retired.
    'fec0::1',
    'feff:ffff::1',
    '3fff::1',
    '3fff:fff:ffff::1',
    '5f00::1',
    '5f00:ffff::1',
    '3ffe::1',
    '100::1',
    '100:0:0:1::1',
    '2001:1ff:ffff::1',
    '2620:4f:8000::1',
    '192.31.196.1',
    '192.52.193.1',
    '192.175.48.1',
    '192.88.99.2',
    '192.0.0.170',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '::ffff:0:7f00:1',
    '0:0:0:0:0:ffff:a00:1',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    'ff02::1',
    'example.com',
    '',
  ])('%s is refused', (address) => expect(isDialable(address, production)).toBe(false))

  it.each([
    '1.1.1.1',
    '172.32.0.1',
    '192.31.197.1',
    '192.175.49.1',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:4860::8888',
    '2620:4f:8001::1',
    '2400:cb00::1',
    '3c00::1',
  ])('%s is public', (address) => expect(isDialable(address, production)).toBe(true))

  it('loopback is allowed in development', () => {
    expect(isDialable('127.0.0.11', development)).toBe(true)
    expect(isDialable('10.0.0.1', development)).toBe(false)
  })
})
