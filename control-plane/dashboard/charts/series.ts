/** The values of a chart over time, with the name of its line or bars. */
export type Series = {
  readonly name: string
  /** A value for each instant; null where none is known. */
  readonly values: readonly (number | null)[]
  /** The range around each value, drawn as an area. */
  readonly band?: readonly (readonly [low: number, high: number] | null)[]
  /** True for a series of failures, which is red in every chart. */
  readonly tone?: 'bad'
  /**
   * True for the values of the period before, drawn at the times of the present period: a pale line without stacked
   * bars.
   */
  readonly isFormer?: boolean
}
