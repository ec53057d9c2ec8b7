import type { CrewMember, CrewOptions, RunningProcess } from './member.ts'
import type { Post } from './post.ts'
import { createPost } from './post.ts'

/** The processes of the network, kept running until they are stopped. */
export type Crew = {
  readonly add: <Started extends RunningProcess>(member: CrewMember<Started>) => Promise<Started>
  readonly pids: () => Readonly<Record<string, number>>
  /** True while the member runs. */
  readonly has: (name: string) => boolean
  /**
   * Stops members and starts them again, because their settings have changed. This includes members that are just
   * starting.
   */
  readonly renew: (names: readonly string[]) => Promise<void>
  /** Resolves once no member is being renewed. */
  readonly settled: () => Promise<void>
  /** Stops all members, group after group. Members without a group stop last. */
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
