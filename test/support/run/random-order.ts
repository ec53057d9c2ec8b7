/**
 * Makes a shuffle that repeats with the same seed (a linear congruential generator, Numerical Recipes, 2nd ed., 7.1).
 */
export function createRandomOrder(seed: number): <Item>(items: readonly Item[]) => Item[] {
  let state = seed >>> 0
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return (items) => {
    const left = [...items]
    return items.flatMap(() => left.splice(below(left.length), 1))
  }
}
