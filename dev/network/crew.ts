import type { Post } from './post.ts'
import { createPost } from './post.ts'

/** Something that runs as a process. */
export type Running = {
  readonly pid: number
  readonly exited: Promise<number>
  readonly stop: () => Promise<void>
}

export type Member<Started extends Running = Running> = {
  readonly name: string
  /** `always` is started again when it ends by itself; `never` is only reported, for what tests kill on purpose. */
  readonly restart: 'always' | 'never'
  /** Looks for a port that is free now: a member that found its own taken is started again at once. */
  readonly start: () => Promise<Started>
}

export type CrewOptions = {
  /** Told in words about every member that ends by itself. */
  readonly report: (line: string, member: string) => void
  readonly onPidsChange: (pids: Readonly<Record<string, number>>) => void
  /** Called when a member could not be kept running. */
  readonly onGiveUp: (member: string) => void
}

/** The processes of the network, kept running until they are stopped. */
export type Crew = {
  readonly add: <Started extends Running>(member: Member<Started>) => Promise<Started>
  readonly pids: () => Readonly<Record<string, number>>
  /** True while the member runs. */
  readonly has: (name: string) => boolean
  /** Stops members that run, or are just starting, and starts them again: what they were told is no longer true. */
  readonly renew: (names: readonly string[]) => Promise<void>
  /** Resolves once nobody has to be renewed any more. */
  readonly settled: () => Promise<void>
  /** Stops everyone, group after group, and whoever is in no group at the end. */
  readonly stop: (order: readonly (readonly string[])[]) => Promise<void>
}

export function createCrew(options: CrewOptions): Crew {
  const posts = new Map<string, Post>()
  const renewals = new Set<Promise<void>>()
  let isStopping = false
  const pids = () =>
    Object.fromEntries(
      [...posts].flatMap(([name, post]) => {
        const running = post.running()
        return running ? [[name, running.pid]] : []
      }),
    )
  const house = { ...options, onChange: () => options.onPidsChange(pids()), isStopping: () => isStopping }

  return {
    async add(member) {
      const post = createPost(member, house)
      posts.set(member.name, post)
      return post.begin(member.start)
    },
    pids,
    has: (name) => posts.get(name)?.running() !== undefined,
    async renew(names) {
      const all = Promise.all(names.map((name) => posts.get(name)?.renew())).then(() => undefined)
      renewals.add(all)
      await all
      renewals.delete(all)
    },
    async settled() {
      while (renewals.size > 0) await Promise.all(renewals)
    },
    async stop(order) {
      isStopping = true
      for (const group of [...order, [...posts.keys()]]) {
        await Promise.all(group.map((name) => posts.get(name)?.halt()))
      }
    },
  }
}
