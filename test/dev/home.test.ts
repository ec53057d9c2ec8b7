import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openHome } from '#dev/network/home.ts'
import { choosePlaces } from '#dev/network/ports.ts'
import { markOf } from '#dev/network/processes.ts'
import { keepSecrets } from '#dev/network/secrets.ts'
import { readProviderAddresses } from '#dev/seed/provider-addresses.ts'
import { readSandboxProviders } from '#dev/seed/sellers.ts'

const folder = mkdtempSync(join(tmpdir(), 'market-homes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const newHome = () => mkdtempSync(join(folder, 'home-'))

describe('a home', () => {
  it('belongs to one network at a time', async () => {
    const root = newHome()
    const home = await openHome(root, false)
    await expect(openHome(root, false)).rejects.toMatchObject({ code: 'conflict' })
    home.release()
    ;(await openHome(root, false)).release()
  })

  it('is taken over from a killed run, once its children have ended', async () => {
    const root = newHome()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'])
    await once(child, 'spawn')
    const children = [markOf(child.pid ?? 0)]
    const gone = { pid: child.pid ?? 0, startedAt: 'another life of this process id' }
    writeFileSync(join(root, 'lock.json'), JSON.stringify({ owner: gone, children }))
    let isOpen = false
    const opening = openHome(root, false).then((home) => {
      isOpen = true
      return home
    })
    await new Promise(setImmediate)
    expect(isOpen).toBe(false)
    child.kill('SIGKILL')
    ;(await opening).release()
  })

  it('is emptied by a reset, which deletes nothing else', async () => {
    const root = newHome()
    writeFileSync(join(root, 'letters.txt'), 'dear')
    await expect(openHome(root, true)).rejects.toMatchObject({ code: 'conflict' })
    expect(existsSync(join(root, 'letters.txt'))).toBe(true)
    expect(existsSync(join(root, 'lock.json'))).toBe(false)
    keepSecrets(join(root, 'secrets.json'))
    ;(await openHome(root, true)).release()
    expect(existsSync(join(root, 'letters.txt'))).toBe(false)
  })

  it('creates no new secrets beside data that only the lost secrets open, unless the start demands it', async () => {
    const root = newHome()
    const [file, data] = [join(root, 'secrets.json'), join(root, 'PG_VERSION')]
    const lost = keepSecrets(file, { data })
    rmSync(file)
    writeFileSync(data, '18')
    expect(() => keepSecrets(file, { data })).toThrow(/secrets\.json is missing.*--new-secrets/)
    expect(existsSync(file)).toBe(false)
    expect(keepSecrets(file, { data, mayReplace: true })).not.toEqual(lost)
    // A home without its secrets can begin anew, too.
    rmSync(file)
    writeFileSync(join(root, 'postgres.password'), 'x')
    ;(await openHome(root, true)).release()
    expect(existsSync(data)).toBe(false)
  })

  it('stores its secrets, readable by their owner only', () => {
    const file = join(newHome(), 'secrets.json')
    const secrets = keepSecrets(file)
    expect(keepSecrets(file)).toEqual(secrets)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(new Set(Object.values(secrets)).size).toBe(4)
  })

  it('keeps the addresses of its providers, and refuses a first port that is taken', async () => {
    const file = join(newHome(), 'providers.json')
    const providers = readSandboxProviders()
    const first = await choosePlaces({ first: undefined, providers, file })
    const kept = [...readProviderAddresses(file)]
    first.release()
    const again = await choosePlaces({ first: undefined, providers, file })
    expect([...readProviderAddresses(file)]).toEqual(kept)
    again.release()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('sandbox-a.host', '127.0.0.11')
    const rival = createServer().listen(0, '127.0.0.1')
    await once(rival, 'listening')
    const address = rival.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(choosePlaces({ first: port, providers, file })).rejects.toMatchObject({ code: 'conflict' })
    rival.close()
  })
})
