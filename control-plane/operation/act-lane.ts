/** Lets a few changes run at once that hold a connection while they wait for another one. The others wait in line. */
export type ActLane = { run<Result>(work: () => Promise<Result>): Promise<Result> }

/** Far fewer than the pool has connections. So the second connection of a change always comes free. */
const MAX_ACTS = 3

export function createActLane(): ActLane {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    async run(work) {
      if (running < MAX_ACTS) running += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        // The place goes to the next in line.
        if (next === undefined) running -= 1
        else next()
      }
    },
  }
}
