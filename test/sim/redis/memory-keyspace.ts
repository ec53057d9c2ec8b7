type Value =
  | { readonly kind: 'string'; text: string }
  | { readonly kind: 'hash'; readonly fields: Map<string, string> }
  | { readonly kind: 'zset'; readonly scores: Map<string, number> }
  | { readonly kind: 'list'; readonly items: string[] }
type Entry = { readonly value: Value; expiresAt: number }

type Undo = { readonly at: number; run(): void }

/** Largest number of writes that can be undone. */
const MAX_UNDO = 4_000

/**
 * The keys of a Redis in memory, with the types and commands that the money path uses. Its last writes can be undone,
 * so that a server can return with older data.
 */
export type Keyspace = {
  get(key: string): string | undefined
  set(key: string, text: string): void
  field(key: string, name: string): string | undefined
  fields(key: string): ReadonlyMap<string, string>
  setField(key: string, name: string, text: string): boolean
  dropField(key: string, name: string): boolean
  /** Adds to a field and returns the sum. Throws when the field is not an integer. */
  addToField(key: string, name: string, amount: number): number
  scores(key: string): ReadonlyMap<string, number>
  /** Members by score and name. */
  ranked(key: string): [string, number][]
  setScore(key: string, member: string, score: number): void
  dropScore(key: string, member: string): boolean
  items(key: string): readonly string[]
  setItems(key: string, items: readonly string[]): void
  remove(key: string): boolean
  expire(key: string, at: number): void
  expireAfter(key: string, ms: number): void
  keys(): string[]
  /** A number that rises whenever the key is written. */
  versionOf(key: string): number
  clear(): void
  /** Undoes the writes after that moment. Returns their number. */
  takeBack(since: number): number
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map()
const NO_SCORES: ReadonlyMap<string, number> = new Map()

export function createKeyspace(now: () => number): Keyspace {
  let entries = new Map<string, Entry>()
  const versions = new Map<string, number>()
  let undos: Undo[] = []
  let writes = 0

  function find(key: string): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || entry.expiresAt > now()) return entry
    entries.delete(key)
    return undefined
  }

  function note(key: string, run: () => void): void {
    versions.set(key, ++writes)
    undos.push({ at: now(), run })
    if (undos.length > MAX_UNDO) undos = undos.slice(MAX_UNDO / 2)
  }

  /** Finds the entry of a key, or creates it. */
  function open<Kind extends Value['kind']>(key: string, kind: Kind, make: () => Extract<Value, { kind: Kind }>) {
    const found = find(key)?.value
    if (found !== undefined) {
      if (!isKind(found, kind)) throw new Error('WRONGTYPE Operation against a key holding the wrong kind of value')
      return found
    }
    const value = make()
    entries.set(key, { value, expiresAt: Number.POSITIVE_INFINITY })
    return value
  }

  function closeIfEmpty(key: string, size: number): void {
    if (size === 0) entries.delete(key)
  }

  function hash(key: string): Map<string, string> {
    return open(key, 'hash', () => ({ kind: 'hash', fields: new Map() })).fields
  }

  function readHash(key: string): ReadonlyMap<string, string> {
    const value = find(key)?.value
    if (value === undefined) return NO_FIELDS
    if (value.kind !== 'hash') throw new Error('WRONGTYPE Operation against a key holding the wrong kind of value')
    return value.fields
  }

  function setField(key: string, name: string, text: string): boolean {
    const fields = hash(key)
    const old = fields.get(name)
    fields.set(name, text)
    note(key, () => {
      const target = hash(key)
      if (old === undefined) target.delete(name)
      else target.set(name, old)
      closeIfEmpty(key, target.size)
    })
    return old === undefined
  }

  function replace(key: string, entry: Entry | undefined): void {
    const old = find(key)
    if (entry === undefined) entries.delete(key)
    else entries.set(key, entry)
    note(key, () => {
      if (old === undefined) entries.delete(key)
      else entries.set(key, old)
    })
  }

  const readScores = (key: string): ReadonlyMap<string, number> => {
    const value = find(key)?.value
    return value?.kind === 'zset' ? value.scores : NO_SCORES
  }

  function expire(key: string, at: number): void {
    const entry = find(key)
    if (entry === undefined) return
    const old = entry.expiresAt
    entry.expiresAt = at
    note(key, () => {
      entry.expiresAt = old
    })
  }

  return {
    get(key) {
      const value = find(key)?.value
      return value?.kind === 'string' ? value.text : undefined
    },
    set: (key, text) => replace(key, { value: { kind: 'string', text }, expiresAt: Number.POSITIVE_INFINITY }),
    field: (key, name) => readHash(key).get(name),
    fields: readHash,
    setField,
    dropField(key, name) {
      const old = readHash(key).get(name)
      if (old === undefined) return false
      const fields = hash(key)
      fields.delete(name)
      closeIfEmpty(key, fields.size)
      note(key, () => void hash(key).set(name, old))
      return true
    },
    addToField(key, name, amount) {
      const old = Number(readHash(key).get(name) ?? '0')
      if (!Number.isSafeInteger(old) || !Number.isSafeInteger(amount))
        throw new Error('ERR hash value is not an integer')
      setField(key, name, (old + amount).toString())
      return old + amount
    },
    scores: readScores,
    ranked: (key) => [...readScores(key)].sort((left, right) => left[1] - right[1] || (left[0] < right[0] ? -1 : 1)),
    setScore(key, member, score) {
      const { scores } = open(key, 'zset', () => ({ kind: 'zset', scores: new Map() }))
      const old = scores.get(member)
      scores.set(member, score)
      note(key, () => {
        const target = open(key, 'zset', () => ({ kind: 'zset', scores: new Map() })).scores
        if (old === undefined) target.delete(member)
        else target.set(member, old)
        closeIfEmpty(key, target.size)
      })
    },
    dropScore(key, member) {
      const old = readScores(key).get(member)
      if (old === undefined) return false
      const { scores } = open(key, 'zset', () => ({ kind: 'zset', scores: new Map() }))
      scores.delete(member)
      closeIfEmpty(key, scores.size)
      note(key, () => void open(key, 'zset', () => ({ kind: 'zset', scores: new Map() })).scores.set(member, old))
      return true
    },
    items(key) {
      const value = find(key)?.value
      return value?.kind === 'list' ? value.items : []
    },
    setItems: (key, items) =>
      replace(
        key,
        items.length === 0
          ? undefined
          : { value: { kind: 'list', items: [...items] }, expiresAt: Number.POSITIVE_INFINITY },
      ),
    remove(key) {
      if (find(key) === undefined) return false
      replace(key, undefined)
      return true
    },
    expire,
    expireAfter: (key, ms) => expire(key, now() + ms),
    keys: () => [...entries.keys()].filter((key) => find(key) !== undefined),
    versionOf: (key) => versions.get(key) ?? 0,
    clear() {
      for (const key of entries.keys()) versions.set(key, ++writes)
      entries = new Map()
      undos = []
    },
    takeBack(since) {
      let count = 0
      for (;;) {
        const last = undos.at(-1)
        if (last === undefined || last.at <= since) return count
        undos.pop()
        const { length } = undos
        last.run()
        // Undoing writes is not a write.
        undos.length = length
        count += 1
      }
    },
  }
}

function isKind<Kind extends Value['kind']>(value: Value, kind: Kind): value is Extract<Value, { kind: Kind }> {
  return value.kind === kind
}
