import type { JournalFile, JournalFiles } from '#data-plane/journal/files.ts'
import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'

type Node = { bytes: Buffer; length: number; synced: number; isNamed: boolean; changedAt: number }

/** A local disk that outlives the processes that use it. */
export type Disk = {
  /** The disk as seen by one process. The last operations of a dead process may still have happened. */
  files(owner: SimProcess): JournalFiles
  /** The machine loses its power. Synced bytes stay, and perhaps a torn part of the rest. */
  cutPower(): void
  /** Replaces the disk by an empty one. */
  replace(): void
  /** Makes the next writes and syncs fail. */
  failNext(count: number): void
  /** The time of the last failure, in milliseconds of the world. */
  failedAt(): number
  /** True when the disk has made a record durable since then. */
  hasRecovered(): boolean
}

const SEGMENT = /\.seg$/

export function createDisk(scheduler: Scheduler, random: Random): Disk {
  let files = new Map<string, Node>()
  let failures = 0
  let failedAt = Number.NEGATIVE_INFINITY
  let savedAt = 0

  function rename(from: string, to: string): void {
    const moved = [...files].filter(([path]) => path === from || path.startsWith(`${from}/`))
    if (moved.length === 0 || files.has(to)) throw missing(from)
    for (const [path, node] of moved) {
      files.delete(path)
      files.set(to + path.slice(from.length), node)
    }
  }

  function list(directory: string): string[] {
    const names = new Set<string>()
    for (const path of files.keys()) {
      if (path.startsWith(`${directory}/`)) names.add(path.slice(directory.length + 1).split('/')[0] ?? '')
    }
    return [...names].sort((left, right) => (left < right ? -1 : 1))
  }

  function put(path: string, text: string): Node {
    const bytes = Buffer.from(text)
    const node = { bytes, length: bytes.length, synced: bytes.length, isNamed: true, changedAt: scheduler.wall() }
    files.set(path, node)
    return node
  }

  function fail(): void {
    if (failures === 0) return
    failures -= 1
    failedAt = scheduler.now()
    throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  }

  function save(node: Node): void {
    fail()
    node.synced = node.length
    savedAt = scheduler.now()
  }

  function filesOf(owner: SimProcess): JournalFiles {
    /** Runs a little later and answers later still. The last operations of a dead process may or may not happen. */
    function later<Result>(ms: number, run: () => Result): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (!owner.isAlive()) return
        scheduler.after(random.fraction() * ms, () => {
          if (!owner.isAlive() && random.chance(0.5)) return
          try {
            const result = run()
            scheduler.after(0, () => resolve(result), owner)
          } catch (error) {
            scheduler.after(0, () => reject(error), owner)
          }
        })
      })
    }
    return {
      makeDirectory: (path) => later(0.1, () => void put(`${path}/.`, '')),
      create: (path) =>
        later(0.1, () => {
          if (files.has(path)) throw Object.assign(new Error('EEXIST'), { code: 'EEXIST' })
          const node = put(path, '')
          node.isNamed = false
          return openFile(node, { later, fail, save, wall: scheduler.wall })
        }),
      write: (path, text) => later(0.2, () => void put(path, text)),
      read: (path) =>
        later(0.1, () => {
          const node = files.get(path)
          return node && Buffer.from(node.bytes.subarray(0, node.length))
        }),
      list: (directory) => later(0.1, () => list(directory).filter((name) => name !== '.')),
      rename: (from, to) => later(0.1, () => rename(from, to)),
      remove: (path) =>
        later(0.1, () => {
          for (const name of [...files.keys()]) if (name === path || name.startsWith(`${path}/`)) files.delete(name)
        }),
      status: (path) =>
        later(0.1, () => {
          const node = files.get(path) ?? [...files].find(([name]) => name.startsWith(`${path}/`))?.[1]
          return node && { bytes: node.length, changedAt: node.changedAt }
        }),
      touch: (path, at) =>
        later(0.1, () => {
          const node = files.get(path)
          if (node === undefined) throw missing(path)
          node.changedAt = at
        }),
      syncDirectory: (path) =>
        later(2, () => {
          for (const [name, node] of files) if (name.startsWith(`${path}/`)) node.isNamed = true
        }),
    }
  }

  return {
    files: filesOf,
    cutPower() {
      for (const [path, node] of [...files]) {
        if (!SEGMENT.test(path)) continue
        if (!node.isNamed) files.delete(path)
        // A first part of the unsynced bytes may have reached the disk.
        else if (node.length > node.synced) node.length = random.between(node.synced, node.length)
      }
    },
    replace() {
      files = new Map()
    },
    failNext(count) {
      failures += count
    },
    failedAt: () => failedAt,
    hasRecovered: () => savedAt > failedAt,
  }
}

type Later = <Result>(ms: number, run: () => Result) => Promise<Result>

type Disks = { readonly later: Later; fail(): void; save(node: Node): void; wall(): number }

function openFile(node: Node, { later, fail, save, wall }: Disks): JournalFile {
  return {
    write: (bytes, at) => {
      const copy = Buffer.from(bytes)
      return later(0.3, () => {
        fail()
        const end = at + copy.length
        if (end > node.bytes.length) {
          const larger = Buffer.alloc(Math.max(end, node.bytes.length * 2, 4_096))
          node.bytes.copy(larger, 0, 0, node.length)
          node.bytes = larger
        }
        copy.copy(node.bytes, at)
        // Overwritten bytes are not on the disk yet.
        node.synced = Math.min(node.synced, at)
        node.length = Math.max(node.length, end)
        node.changedAt = wall()
      })
    },
    datasync: () => later(4, () => save(node)),
    close: () => later(0.1, () => undefined),
  }
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
}
