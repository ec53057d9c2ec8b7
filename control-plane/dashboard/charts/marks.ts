/** A period with an event, such as an incident. `to` is null while the event lasts. */
export type Mark = { readonly name: string; readonly from: number; readonly to: number | null }

/** The first and the last place of a mark among the instants; undefined where it lies outside. */
export function placesOf({ from, to }: Mark, times: readonly number[]): readonly [number, number] | undefined {
  const end = to ?? Number.POSITIVE_INFINITY
  const first = times.findLastIndex((time) => time <= from)
  const last = times.findLastIndex((time) => time <= end)
  return last < 0 ? undefined : [Math.max(first, 0), last]
}

type Marked = { readonly marks?: readonly Mark[]; readonly times: readonly number[] }

/** The names of the events at a place of the chart. */
export function marksAt({ marks = [], times }: Marked, at: number): readonly string[] {
  return marks.flatMap((mark) => {
    const places = placesOf(mark, times)
    return places !== undefined && places[0] <= at && at <= places[1] ? [mark.name] : []
  })
}
