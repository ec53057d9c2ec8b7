import { describe, expect, it } from 'vitest'
import { checkOutboundUrl, checkPublicUrl, isDialable } from '#shared/outbound-guard.ts'

const hosts = new Set(['allowed.host'])
const production = { allowsLoopback: false }
const development = { allowsLoopback: true }

describe('outbound URLs', () => {
  it.each([
    ['C101', 'http://allowed.host/'],
    ['C102', 'https://127.0.0.1/'],
    ['C107', 'https://017700000001/'],
    ['C108', 'https://2130706433/'],
    ['C111', 'https://[::]/'],
    ['C112', 'https://[::ffff:127.0.0.1]/'],
    ['C117', 'https://[fe80::1]/'],
    ['C118', 'https://[fc00::1]/'],
    ['C119', 'https://169.254.169.254/latest/meta-data/'],
    ['C120', 'https://metadata.google.internal/'],
    ['C123', 'https://012.1.2.3/'],
    ['C124', 'https://１２７.０.０.１/'],
    ['C129', 'https://allowed.host\\@127.0.0.1/'],
    ['C130', 'https://allowed.host:22/'],
    ['C130', 'https://allowed.host:6379/'],
    ['C130', 'https://allowed.host:8443/'],
    ['C130', 'https://allowed.host:0/'],
    ['C130', 'https://allowed.host:99999/'],
    ['C137', 'https:127.0.0.1'],
    ['C137', 'https:///127.0.0.1'],
    ['C137', '//127.0.0.1'],
    ['C138', 'file:///etc/passwd'],
    ['C138', 'gopher://allowed.host/'],
    ['C138', 'ftp://allowed.host/'],
    ['C138', 'dict://allowed.host:11211/stat'],
    ['C138', 'unix:/var/run/a.sock'],
    ['C138', 'data:text/plain,x'],
    ['C138', 'javascript:alert(1)'],
    ['user info', 'https://user:pass@allowed.host/'],
    ['trailing dot', 'https://allowed.host./'],
    ['subdomain', 'https://x.allowed.host/'],
    ['suffix', 'https://allowed.host.evil.example/'],
    ['fragment', 'https://allowed.host/#x'],
    ['percent in the authority', 'https://%61llowed.host/'],
    ['tab', 'https://allowed\t.host/'],
    ['too long', `https://allowed.host/${'x'.repeat(3_000)}`],
  ])('%s: %s is refused', (_row, url) => {
    expect(checkOutboundUrl(url, hosts, production)).toBeUndefined()
    expect(checkOutboundUrl(url, hosts, development)).toBeUndefined()
  })

  it('lets exactly the listed host through', () => {
    expect(checkOutboundUrl('https://allowed.host/v1', hosts, production)?.href).toBe('https://allowed.host/v1')
    expect(checkOutboundUrl('https://ALLOWED.host/v1', hosts, production)?.host).toBe('allowed.host')
  })

  it('lets a listed loopback host through in development only', () => {
    const local = new Set(['127.0.0.11:9000'])
    expect(checkOutboundUrl('http://127.0.0.11:9000/v1', local, development)?.port).toBe('9000')
    expect(checkOutboundUrl('http://127.0.0.11:9000/v1', local, production)).toBeUndefined()
    expect(checkOutboundUrl('http://127.0.0.12:9000/v1', local, development)).toBeUndefined()
  })
})

describe('URLs of public hosts', () => {
  it('are those with a name that the whole internet knows [C323]', () => {
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
  ])('%s is not dialled', (address) => expect(isDialable(address, production)).toBe(false))

  it.each([
    ...['1.1.1.1', '172.32.0.1', '192.31.197.1', '192.175.49.1', '2606:4700::1111', '2a00:1450::1', '2001:4860::8888'],
    ...['2620:4f:8001::1', '2400:cb00::1', '3c00::1'],
  ])('%s is public', (address) => expect(isDialable(address, production)).toBe(true))

  it('loopback is dialled in development', () => {
    expect(isDialable('127.0.0.11', development)).toBe(true)
    expect(isDialable('10.0.0.1', development)).toBe(false)
  })
})
