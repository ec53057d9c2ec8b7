import { createHash } from 'node:crypto'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import type { Keyspace } from './memory-keyspace.ts'
import { createKeyspace } from './memory-keyspace.ts'
import { reserveOf } from './memory-operations.ts'
import type { ScriptName, ScriptSemantics } from './memory-scripts.ts'
import { runOf } from './memory-scripts.ts'

export type Arg = string | number
/** A session on the server. Its watches end with the session. */
export type Session = { watched: Map<string, number> | undefined }
export type Command = { readonly name: string; readonly args: readonly Arg[] }

/** Listens to every run of a money script, before and after it. */
export type Referee = {
  before(run: ScriptRun): void
  after(run: ScriptRun, answers: readonly string[]): void
}
export type ScriptRun = {
  readonly name: ScriptName
  readonly epoch: number
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** A Redis in memory with the commands that the money path uses. */
export type MemoryRedis = {
  readonly data: Keyspace
  /** Runs a command. Throws the error reply of the server. */
  call(session: Session, command: Command): unknown
  /** Runs commands as one MULTI. Returns null when a watched key was changed. */
  exec(session: Session, commands: readonly Command[]): [Error | null, unknown][] | null
  runId(): string
  knows(script: ScriptName, epoch: number): boolean
  /** Calls the listener with the channel of every published message. */
  onPublish(listener: (channel: string) => void): void
  /** Calls the listener when the next item is added to a list. */
  onNextPush(key: string, listener: () => void): void
  setReferee(referee: Referee): void
  /** Calls the listener after every run of a money script. */
  onRun(listener: (run: ScriptRun, answers: readonly string[]) => void): void
  /** Starts a new process from the log on disk. It has no scripts and no reserves. */
  restart(): void
  /** FLUSHALL. The scripts stay. */
  flush(): void
  /** Returns to the state before an instant. Returns the number of lost writes. */
  lose(since: number): number
}

type Handler = (args: readonly string[], session: Session) => unknown

export function createMemoryRedis(wall: () => number, semantics: ScriptSemantics): MemoryRedis {
  const data = createKeyspace(wall)
  let runs = 0
  let scripts = new Map<string, { readonly name: ScriptName; readonly epoch: number }>()
  const publishing: ((channel: string) => void)[] = []
  const pushing = new Map<string, (() => void)[]>()
  let referee: Referee | undefined
  const ran: ((run: ScriptRun, answers: readonly string[]) => void)[] = []
  let unlogged: Grant[] = []

  /**
   * The log lacks the writes of reserves and has those of settlements. So a settlement in the log subtracts an amount
   * that the log never added.
   */
  function forgetReserves(): void {
    for (const { epoch, account, hold, expiring, rid, amount } of unlogged) {
      if (data.field(account, 'ep') === epoch) data.addToField(account, 'h', -amount)
      if (data.field(hold, 'ep') === epoch && data.field(hold, 'st') === 'open') data.remove(hold)
      data.dropScore(expiring, rid)
    }
    unlogged = []
  }

  function evalsha([sha = '', count = '', ...rest]: readonly string[]): string[] {
    const script = scripts.get(sha)
    if (script === undefined) throw new Error('NOSCRIPT No matching script. Please use EVAL.')
    const keys = rest.slice(0, Number(count))
    const run = { ...script, keys, args: rest.slice(Number(count)) }
    referee?.before(run)
    const answers = semantics[script.name](runOf(data, wall(), run))
    if (run.name === 'reserve') unlogged.push(...grantsOf(run, answers, wall()))
    for (const listener of ran) listener(run, answers)
    referee?.after(run, answers)
    return answers
  }

  function script([verb = '', ...rest]: readonly string[]): unknown {
    if (verb === 'FLUSH') scripts = new Map()
    if (verb === 'EXISTS') return rest.map((sha) => (scripts.has(sha) ? 1 : 0))
    if (verb === 'LOAD') scripts.set(...identify(rest[0] ?? ''))
    return 'OK'
  }

  const handlers: Readonly<Record<string, Handler>> = {
    ...keyCommands(data, (key) => {
      const listeners = pushing.get(key) ?? []
      pushing.delete(key)
      for (const listener of listeners) listener()
    }),
    ...hashCommands(data),
    ...setCommands(data),
    evalsha,
    script,
    publish([channel = '']) {
      for (const listener of publishing) listener(channel)
      return 1
    },
    info: () => `# Server\r\nrun_id:${runs.toString(16).padStart(40, '0')}\r\n`,
    time: () => [Math.floor(wall() / 1000).toString(), (Math.floor(wall() * 1000) % 1_000_000).toString()],
    watch([key = ''], session) {
      session.watched ??= new Map()
      session.watched.set(key, data.versionOf(key))
      return 'OK'
    },
    unwatch(_args, session) {
      session.watched = undefined
      return 'OK'
    },
  }

  function call(session: Session, { name, args }: Command): unknown {
    const handler = handlers[name]
    if (handler === undefined) throw new Error(`ERR unknown command '${name}'`)
    return handler(args.map(String), session)
  }

  return {
    data,
    call,
    exec(session, commands) {
      const watched = session.watched
      session.watched = undefined
      for (const [key, version] of watched ?? []) if (data.versionOf(key) !== version) return null
      return commands.map((command) => {
        try {
          return [null, call(session, command)]
        } catch (error) {
          return [error instanceof Error ? error : new Error('ERR'), undefined]
        }
      })
    },
    runId: () => runs.toString(16).padStart(40, '0'),
    knows: (name, epoch) => scripts.has(shaOf(name, epoch)),
    onPublish: (listener) => void publishing.push(listener),
    onNextPush(key, listener) {
      pushing.set(key, [...(pushing.get(key) ?? []), listener])
    },
    onRun: (listener) => void ran.push(listener),
    setReferee(one) {
      referee = one
    },
    restart() {
      runs += 1
      scripts = new Map()
      forgetReserves()
    },
    flush() {
      data.clear()
      unlogged = []
    },
    lose(since) {
      runs += 1
      scripts = new Map()
      const count = data.takeBack(since)
      unlogged = unlogged.filter((grant) => grant.at <= since)
      forgetReserves()
      return count
    },
  }
}

/** The money that one reserve holds. */
type Grant = {
  readonly at: number
  readonly epoch: string
  readonly account: string
  readonly hold: string
  readonly expiring: string
  readonly rid: string
  readonly amount: number
}

function grantsOf(run: ScriptRun, answers: readonly string[], at: number): Grant[] {
  return answers.flatMap((answer, index) => {
    if (!answer.startsWith('G:')) return []
    const { account, hold, rid } = reserveOf(run, index)
    const amount = Number(answer.slice(2))
    return [{ at, epoch: run.epoch.toString(), account, hold, expiring: run.keys[0] ?? '', rid, amount }]
  })
}

function keyCommands(data: Keyspace, onPush: (key: string) => void): Record<string, Handler> {
  return {
    get: ([key = '']) => data.get(key) ?? null,
    set([key = '', text = '', only]) {
      if (only !== undefined && (data.get(key) === undefined) !== (only === 'NX')) return null
      data.set(key, text)
      return 'OK'
    },
    del: (keys) => keys.filter((key) => data.remove(key)).length,
    unlink: (keys) => keys.filter((key) => data.remove(key)).length,
    lpush([key = '', ...items]) {
      data.setItems(key, [...items.reverse(), ...data.items(key)])
      onPush(key)
      return data.items(key).length
    },
    ltrim([key = '', first = '', last = '']) {
      data.setItems(key, data.items(key).slice(Number(first), Number(last) + 1))
      return 'OK'
    },
    lpop([key = '', count = '1']) {
      const items = data.items(key)
      if (items.length === 0) return null
      data.setItems(key, items.slice(Number(count)))
      return items.slice(0, Number(count))
    },
  }
}

function hashCommands(data: Keyspace): Record<string, Handler> {
  return {
    hget: ([key = '', name = '']) => data.field(key, name) ?? null,
    hmget: ([key = '', ...names]) => names.map((name) => data.field(key, name) ?? null),
    hgetall: ([key = '']) => Object.fromEntries(data.fields(key)),
    hkeys: ([key = '']) => [...data.fields(key).keys()],
    hexists: ([key = '', name = '']) => (data.field(key, name) === undefined ? 0 : 1),
    hset([key = '', ...pairs]) {
      let added = 0
      for (let index = 0; index < pairs.length; index += 2) {
        if (data.setField(key, pairs[index] ?? '', pairs[index + 1] ?? '')) added += 1
      }
      return added
    },
    hsetnx([key = '', name = '', text = '']) {
      if (data.field(key, name) !== undefined) return 0
      data.setField(key, name, text)
      return 1
    },
    hdel: ([key = '', ...names]) => names.filter((name) => data.dropField(key, name)).length,
    pexpire([key = '', ms = '']) {
      data.expireAfter(key, Number(ms))
      return 1
    },
  }
}

function setCommands(data: Keyspace): Record<string, Handler> {
  return {
    zrange([key = '', first = '', last = '', withScores]) {
      const page = data.ranked(key).slice(Number(first), Number(last) + 1)
      return withScores === undefined
        ? page.map(([member]) => member)
        : page.flatMap(([member, score]) => [member, score.toString()])
    },
    zrangebyscore([key = '', , most = '', , , limit = '']) {
      const due = data.ranked(key).filter(([, score]) => score <= Number(most))
      return due.slice(0, Number(limit)).map(([member]) => member)
    },
    zrem: ([key = '', ...members]) => members.filter((member) => data.dropScore(key, member)).length,
    zadd([key = '', score = '', member = '']) {
      data.setScore(key, member, Number(score))
      return 1
    },
    // Only lists look up old members, and no operation here asks for a list.
    zremrangebylex: () => 0,
    zmscore: ([key = '', ...members]) => members.map((member) => data.scores(key).get(member)?.toString() ?? null),
    zcard: ([key = '']) => data.scores(key).size,
  }
}

const SCRIPT_NAMES = ['settle', 'register', 'ack', 'seedUse', 'capTake', 'capSettle', 'capCount', 'reserve'] as const
const shas = new Map<number, ReadonlyMap<ScriptName, string>>()
const identities = new Map<string, { readonly name: ScriptName; readonly epoch: number }>()

function learn(epoch: number): ReadonlyMap<ScriptName, string> {
  const known = shas.get(epoch)
  if (known !== undefined) return known
  const scripts = moneyScripts(epoch)
  const found = new Map(SCRIPT_NAMES.map((name) => [name, scripts[name].sha]))
  shas.set(epoch, found)
  for (const [name, sha] of found) identities.set(sha, { name, epoch })
  return found
}

function shaOf(name: ScriptName, epoch: number): string {
  return learn(epoch).get(name) ?? ''
}

const MAX_EPOCHS = 10_000

/** Finds the script and the epoch of a loaded text. */
function identify(text: string): [string, { readonly name: ScriptName; readonly epoch: number }] {
  const sha = createHash('sha1').update(text).digest('hex')
  for (let epoch = 1; epoch <= MAX_EPOCHS; epoch++) {
    const known = identities.get(sha)
    if (known !== undefined) return [sha, known]
    learn(epoch)
  }
  throw new Error('a text was loaded that is no money script')
}
