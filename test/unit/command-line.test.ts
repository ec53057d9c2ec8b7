import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytes, count, dollars, duration, instant, perMillion } from '#control-plane/cli/amounts.ts'
import { COMMON_OPTIONS, splitName } from '#control-plane/cli/command.ts'
import { COMMANDS, GROUPS, SECTIONS } from '#control-plane/cli/commands/index.ts'
import { completionScript } from '#control-plane/cli/completion.ts'
import { renderBlocks, table } from '#control-plane/cli/output.ts'
import { referencePage } from '#control-plane/cli/reference.ts'
import { forgetKeys, keepKey, readCredentials, readSecretIn } from '#control-plane/cli/secret-files.ts'
import { clean, tableLines, widthOf } from '#control-plane/cli/table.ts'
import { purgeLentOffer } from '#control-plane/services/lending/lent-offers.ts'
import { procedureWords, readProcedures } from '#dev/procedures/procedures.ts'
import { runMarket } from '#test/support/market/command-line.ts'
import { BUSY_MS } from '#test/support/run/until.ts'

const NO_MARKET = { MARKET_CONFIG_DIR: '/nonexistent', MARKET_HOME: '/nonexistent' }
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'market-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the reference page', () => {
  it("docs/cli.md is the output of the program's own help", async () => {
    await expect(referencePage()).toMatchFileSnapshot('../../docs/cli.md')
  })

  it('has every command once, under an existing group', async () => {
    const names = [...GROUPS, ...COMMANDS].map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const groups = new Set(['', ...GROUPS.map(({ name }) => name)])
    expect(names.filter((name) => !groups.has(splitName(name).parent))).toEqual([])
    for (const command of COMMANDS) expect(await command.load(), command.name).toBeTypeOf('function')
  })

  it("lists each command of the first help and of the operators' help under one heading", () => {
    for (const of of ['', 'operator']) {
      const words = [...GROUPS, ...COMMANDS].map(({ name }) => splitName(name)).filter(({ parent }) => parent === of)
      const listed = SECTIONS.filter((section) => section.of === of).flatMap((section) => section.words)
      expect(new Set(listed)).toEqual(new Set(words.map(({ word }) => word)))
      expect(listed.length).toBe(words.length)
    }
  })
})

describe('the descriptions of commands', () => {
  it('come from the operation that a command calls', async () => {
    const kept = readFileSync(new URL('../../control-plane/cli/procedure-words.json', import.meta.url), 'utf8')
    expect(kept, '`npm run generate` writes it').toBe(procedureWords())
    const { out } = await runMarket(['lent', 'purge', '--help'], { env: NO_MARKET })
    const { summary, about } = purgeLentOffer
    expect(out.replaceAll(/\s+/g, ' ')).toContain(`${summary}. ${about}`)
    expect((await runMarket(['lent', '--help'], { env: NO_MARKET })).out).toMatch(
      new RegExp(`purge .* ${summary}\\.\n`),
    )
  })

  it('are written by hand where a command does more than one operation, or a part of one', () => {
    const ofOperations = new Set(readProcedures().map(({ words }) => `${words.summary}.`))
    // Reads of the data plane, signatures of a wallet, a management key, several operations, or one value of a member.
    const own = `login, logout, whoami, completion, models, markets, book, chat, pay, route explain, deposit,
      allowance open, allowance revoke, key, budgets list, budgets set, keys list, keys create, keys revoke, keys freeze, keys unfreeze, sell, offers activate, offers pause, offers cancel-all,
      lent pause, lent activate, operator resources put, operator setup, operator catalog refresh,
      operator catalog import, operator providers trust, operator providers distrust,
      operator payout-holds list, operator features on, operator features off, operator limits set,
      operator limits reset`
    const names = COMMANDS.filter(({ summary }) => !ofOperations.has(summary)).map(({ name }) => name)
    expect(names).toEqual(own.split(/,\s+/))
  })
})

describe('command lines in the documentation', () => {
  const lines = ['buy', 'cli', 'operate', 'sell'].flatMap((page) =>
    readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('npx market '))
      .map((line) => line.slice('npx market '.length)),
  )

  it('use commands and options that exist', () => {
    expect(lines.length).toBeGreaterThan(30)
    const unknown = lines.filter((line) => {
      const named = COMMANDS.filter(({ name }) => `${line} `.startsWith(`${name} `))
      const command = named.sort((left, right) => right.name.length - left.name.length)[0]
      const flags = [...(command?.options ?? []), ...COMMON_OPTIONS].map(
        ({ flags: text }) => /--[a-z-]+/.exec(text)?.[0],
      )
      const given = [...line.matchAll(/ (--[a-z-]+)/g)].map((match) => match[1])
      return command === undefined || given.some((flag) => !flags.includes(flag))
    })
    expect(unknown).toEqual([])
  })
})

describe('a table', () => {
  const columns = [{ title: 'NAME' }, { title: 'PRICE', alignsRight: true }]

  it('is as wide as its cells when everything fits', () => {
    const rows = [
      ['short', '1'],
      ['a rather long name of something', '10.00'],
    ]
    expect(tableLines(columns, rows, undefined)).toEqual([
      'NAME                             PRICE',
      'short                                1',
      'a rather long name of something  10.00',
    ])
  })

  it('fits a terminal by cutting its widest column, in any script', () => {
    const rows = [
      ['a rather long name of something', '10.00'],
      ['模型模型模型模型模型模型', '2'],
    ]
    const lines = tableLines(columns, rows, 20)
    expect(lines.every((line) => widthOf(line) <= 20)).toBe(true)
    expect(lines[1]).toMatch(/^a rather lon…\s+10\.00$/)
  })

  it('removes control sequences from texts of others', () => {
    expect(clean('a\u001b[2Jb\nc\u202ed')).toBe('a [2Jb c d')
  })
})

describe('amounts', () => {
  it('have the same number of decimals in one column', () => {
    const amounts = [{ paid: '$1.72' }, { paid: '$0.237062' }, { paid: null }, { paid: '-$1,000.50' }]
    const block = table(amounts, [{ title: 'PAID', alignsRight: true, value: ({ paid }) => paid }])
    const lines = renderBlocks([block], { width: undefined, hasColor: false }).split('\n')
    expect(lines.map((line) => line.trim())).toEqual(['PAID', '$1.720000', '$0.237062', '-', '-$1,000.500000'])
  })

  it('are exact', () => {
    expect([dollars('1'), dollars(-1_500_000n), dollars(0), dollars('12345678901234567')]).toEqual([
      '$0.000001',
      '-$1.50',
      '$0.00',
      '$12,345,678,901.234567',
    ])
    expect(perMillion('250000')).toBe('$0.25')
    expect([count(1_234_567), bytes(1_500), duration(7_300_000), instant(0)]).toEqual([
      '1,234,567',
      '2 kB',
      '2h',
      '1970-01-01 00:00:00Z',
    ])
  })
})

describe('secrets', () => {
  it('are read from a file that only its owner can read', () => {
    const file = join(folder, 'key')
    writeFileSync(file, 'secret\n', { mode: 0o600 })
    expect(readSecretIn(file).reveal()).toBe('secret')
    for (const mode of [0o640, 0o604, 0o644, 0o660]) {
      chmodSync(file, mode)
      expect(() => readSecretIn(file)).toThrow(/chmod 600/)
    }
  })

  it('are stored by market, in a file of mode 0600, and can be deleted', () => {
    const home = join(folder, 'kept')
    const path = keepKey(home, { origin: 'https://a.example', side: 'buyer', key: 'inf_a' })
    keepKey(home, { origin: 'https://b.example', side: 'seller', key: 'mkt_seller_b' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readCredentials(home)).toEqual({
      current: 'https://b.example',
      markets: { 'https://a.example': { buyer: 'inf_a' }, 'https://b.example': { seller: 'mkt_seller_b' } },
    })
    expect([forgetKeys(home, 'https://b.example'), forgetKeys(home, 'https://b.example')]).toEqual([true, false])
    expect(readCredentials(home).current).toBeNull()
    chmodSync(path, 0o644)
    expect(() => readCredentials(home)).toThrow(/chmod 600/)
  })
})

describe('the program without a market', () => {
  const env = NO_MARKET

  it('prints its usage, and exits with 2 on a wrong usage', async () => {
    const help = await runMarket(['operator', 'catalog', '--help'], { env })
    expect([help.code, help.err]).toEqual([0, ''])
    expect(help.out).toContain('import')
    const { out } = await runMarket(['--help'], { env })
    const order = ['Get started:', 'login', 'Call models:', 'chat', 'Credit and payment:', 'Sell:', 'Operate:']
    const places = order.map((word) => out.indexOf(`\n${word.endsWith(':') ? '' : '  '}${word}`))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(places[0]).toBeGreaterThan(0)
    const meant: [args: string[], words: string][] = [
      [['modles'], 'Did you mean models?'],
      [['usage', '--limt', '5'], 'Did you mean --limit?'],
      [['operator', 'offers', 'delist'], 'Did you mean market operator delist?'],
    ]
    for (const [args, words] of meant) expect((await runMarket(args, { env })).err).toContain(words)
    const wrong = [['nonsense'], ['book'], ['models', '--nonsense'], ['usage', '--period', '3y'], ['models']]
    for (const args of wrong) expect([args, (await runMarket(args, { env })).code]).toEqual([args, 2])
    const plain = await runMarket(['models', '--url', 'http://market.example'], { env })
    expect([plain.code, plain.err]).toEqual([2, expect.stringContaining('not https')])
    expect((await runMarket(['balance', '--url', 'https://127.0.0.1:9'], { env })).code).toBe(3)
  })

  it('exits with 5 where no market answers, and prints JSON with --json', async () => {
    const ran = await runMarket(['models', '--url', 'http://127.0.0.1:9', '--json'], { env })
    expect([ran.code, ran.out]).toEqual([5, ''])
    expect(JSON.parse(ran.err)).toMatchObject({ error: { code: 'unavailable' } })
  })
})

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'exit']).status === 0

describe('completion', () => {
  /** The next words that bash completes. */
  function offered(...words: string[]): string[] {
    const file = join(folder, 'completion.bash')
    writeFileSync(file, completionScript('bash', { groups: GROUPS, commands: COMMANDS }))
    const script = `source ${file}; COMP_WORDS=(market ${words.join(' ')} ''); [[ -n $LAST ]] && COMP_WORDS[-1]=$LAST
      COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _market; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n')
  }

  it('knows commands, subcommands and options', () => {
    expect(offered()).toEqual(expect.arrayContaining(['chat', 'sell', 'operator', 'keys']))
    expect(offered('operator')).toEqual(expect.arrayContaining(['catalog', 'delist', 'nodes']))
    expect(offered('operator', 'catalog')).toEqual(['refresh', 'import', 'history'])
    expect(offered('--json', 'keys')).toEqual(['list', 'create', 'revoke', 'freeze', 'unfreeze'])
  })

  it('is written for three shells', () => {
    for (const shell of ['bash', 'zsh', 'fish'] as const) {
      const script = completionScript(shell, { groups: GROUPS, commands: COMMANDS })
      expect(script).toContain('operator catalog')
      expect(script.split('\n').length).toBeGreaterThan(50)
    }
  })

  it.skipIf(!isInstalled('fish'))('answers in fish', () => {
    const file = join(folder, 'completion.fish')
    writeFileSync(file, completionScript('fish', { groups: GROUPS, commands: COMMANDS }))
    const asked = (line: string) => {
      const script = `source ${file}; complete -C '${line}'`
      const answer = execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8', timeout: BUSY_MS })
      return answer
        .trim()
        .split('\n')
        .map((told) => told.split('\t', 1)[0])
    }
    expect(asked('market operator catalog ')).toEqual(['history', 'import'])
    expect(asked('market --json keys ')).toEqual(['create', 'freeze', 'list', 'revoke', 'unfreeze'])
    expect(asked('market operator catalog import --')).toEqual(expect.arrayContaining(['--dry-run', '--effective-at']))
    expect(asked('market ')).toEqual(expect.arrayContaining(['chat', 'sell', 'operator', 'keys']))
  })

  it.skipIf(!isInstalled('zsh'))('completes in zsh at its own prompt', () => {
    const file = join(folder, 'completion.zsh')
    const asking = join(folder, 'ask.zsh')
    writeFileSync(file, completionScript('zsh', { groups: GROUPS, commands: COMMANDS }))
    // zsh completes only in a pseudo-terminal. Each read waits for the expected text.
    writeFileSync(
      asking,
      `zmodload zsh/zpty
zpty asked zsh -f -i
zpty -w asked "autoload -Uz compinit; compinit -u -D; source ${file}; bindkey '^I' list-choices; PS1=rea''dy"
zpty -r asked text '*ready*'
for line last in "$@"; do
  zpty -n -w asked $'\\x15'"$line"$'\\t'
  zpty -r asked text "*$last*--*"
  print -r -- "asked $text"
done
`,
    )
    const questions = [
      ['market operator catalog ', 'import'],
      ['market --json keys ', 'revoke'],
      ['market operator catalog import --', '--yes'],
    ]
    const told = execFileSync('zsh', ['-f', asking, ...questions.flat()], { encoding: 'utf8', timeout: BUSY_MS })
    const [, catalog, keys, options] = told.split('asked ')
    expect(catalog).toContain('List changes of the catalogue')
    expect(keys).toMatch(/create.*list/s)
    expect(options).toMatch(/--dry-run.*--effective-at/s)
  })
})
