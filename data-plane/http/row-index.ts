import type { FlooredPath } from './path-floor.ts'
import { splitFloor } from './path-floor.ts'
import type { Method, Row, RowHost, Voice } from './row.ts'
import { METHODS } from './row.ts'

/** The voice of a path and its host. */
export type Family = Voice & { readonly host: RowHost }

/** The text of a floor, and the host whose paths take one there. */
export type FloorText = { readonly text: string; readonly host: RowHost }

/** The rows by path, for requests that the router has not answered. A request with a row never comes here. */
export type RowIndex = {
  /**
   * Finds the rows of a path for any method, and the text behind `min` where the path may have a floor. That text may
   * be no valid floor.
   */
  find(path: string): { readonly rows: readonly Row[]; readonly floor: FloorText | undefined }
  /** The voice of a path that no row has. It is the one shared by all rows with the longest common beginning. */
  familyOf(path: string): Family
}

/** `otherwise` is the voice of a path whose nearest rows differ. */
export function createRowIndex(rows: readonly Row[], otherwise: Voice): RowIndex {
  const shapes = rows.map((row) => ({ row, segments: row.path.split('/') }))
  const places = new Map<string, RowHost>()
  const families: FamilyNode = { family: undefined, below: new Map() }
  for (const { row, segments } of shapes) {
    const { host, floorBehind: behind } = row
    if (behind !== undefined) places.set(behind, (places.get(behind) ?? host) === host ? host : 'both')
    let node = families
    for (const segment of segments) {
      const known = node.below.get(segment)
      const family = known?.family === undefined ? row : shared(known.family, row, otherwise)
      const next: FamilyNode = { family, below: known?.below ?? new Map() }
      node.below.set(segment, next)
      node = next
    }
  }
  function takeFloor(path: string) {
    for (const [behind, host] of places) {
      const split = splitFloor(path, behind)
      if (split !== undefined) return { ...split, behind, host }
    }
    return undefined
  }
  return {
    find(path) {
      const floored = takeFloor(path)
      const asked = (floored?.rest ?? path).split('/')
      const found = shapes.filter(({ row, segments }) => {
        return fits(segments, asked) && (floored === undefined || row.floorBehind === floored.behind)
      })
      return { rows: found.map(({ row }) => row), floor: floored && textOf(floored) }
    },
    familyOf(path) {
      // No more of the path is read than has a row, so a long path costs no more than a short one.
      let node = families
      let from = 0
      while (from <= path.length) {
        const slash = path.indexOf('/', from)
        const end = slash < 0 ? path.length : slash
        const next = node.below.get(path.slice(from, end))
        if (next === undefined) break
        node = next
        from = end + 1
      }
      return node.family ?? { ...otherwise, host: 'both' }
    },
  }
}

/** A beginning of paths, segment by segment. */
type FamilyNode = { readonly family: Family | undefined; readonly below: Map<string, FamilyNode> }

/** The text behind `min`. A second floor makes both invalid, so the text is then the rest of the path. */
function textOf({ floor, rest, behind, host }: FlooredPath & { behind: string; host: RowHost }): FloorText {
  return { text: rest.startsWith(`${behind}/min`) ? rest : floor, host }
}

/** The family that two rows share. */
function shared(known: Family, row: Row, otherwise: Voice): Family {
  const host = known.host === row.host ? row.host : 'both'
  return known.envelope === row.envelope ? { ...known, host } : { ...otherwise, host }
}

function fits(segments: readonly string[], asked: readonly string[]): boolean {
  const isOpen = segments.at(-1)?.startsWith('*') === true
  if (isOpen ? asked.length < segments.length : asked.length !== segments.length) return false
  return segments.every((segment, index) => /^[:*]/.test(segment) || segment === asked[index])
}

/** The methods of rows, each once and in one order. */
export function methodsOf(rows: readonly Pick<Row, 'methods'>[]): readonly Method[] {
  return METHODS.filter((method) => rows.some(({ methods }) => methods.includes(method)))
}
