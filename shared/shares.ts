/** Places that many callers take, each at most its share. */
export type Shares = {
  /**
   * Takes a place for a name, which may have at most `most` places. Returns the function that gives the place back,
   * once. If no place is free, returns the limit that refused: that of the `name`, or that of `all`.
   */
  take(name: string, most: number): (() => void) | 'name' | 'all'
}

/** `inAll` is the number of places. */
export function createShares(inAll: number): Shares {
  const takenBy = new Map<string, number>()
  let all = 0
  return {
    take(name, most) {
      const count = takenBy.get(name) ?? 0
      if (count >= most) return 'name'
      if (all >= inAll) return 'all'
      takenBy.set(name, count + 1)
      all++
      let isTaken = true
      return () => {
        if (!isTaken) return
        isTaken = false
        all--
        const remaining = (takenBy.get(name) ?? 1) - 1
        if (remaining === 0) takenBy.delete(name)
        else takenBy.set(name, remaining)
      }
    },
  }
}
