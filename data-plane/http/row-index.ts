import type { FlooredPath } from './path-floor.ts'
import { splitFloor } from './path-floor.ts'
import type { Method, Row, RowHost, Voice } from './row.ts'
import { METHODS } from './row.ts'

/** The voice of a path and its host. */
export type Family = Voice & { readonly host: RowHost }

/** The text of a path's floor, and the host that the path belongs to. */
export type FloorText = { readonly text: string; readonly host: RowHost }

/** The rows by path, for requests that the router has not answered. */
export type RowIndex = {
  /**
   * Finds the rows of a path for any method, and the text after `min` if the path may have a floor. That text may be no
   * valid floor.
   */
  find(path: string): { readonly rows: readonly Row[]; readonly floor: FloorText | undefined }
  /** The voice of a path without a row: the one that all rows with the longest common prefix share. */
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
      const familyNode = node.below.get(segment)
      const family = familyNode?.family === undefined ? row : shared(familyNode.family, row, otherwise)
      const next: FamilyNode = { family, below: familyNode?.below ?? new Map() }
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
      const asSegments = (floored?.rest ?? path).split('/')
      const foundShapes = shapes.filter(({ row, segments }) => {
        return fits(segments, asSegments) && (floored === undefined || row.floorBehind === floored.behind)
      })
      return { rows: foundShapes.map(({ row }) => row), floor: floored && textOf(floored) }
    },
    familyOf(path) {
      // The path is read only as far as rows reach, so a long path costs no more than a short one.
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

/** A prefix of paths, segment by segment. */
type FamilyNode = { readonly family: Family | undefined; readonly below: Map<string, FamilyNode> }

/** The text after `min`. A second floor makes both invalid, so the text is then the rest of the path. */
function textOf({ floor, rest, behind, host }: FlooredPath & { behind: string; host: RowHost }): FloorText {
  return { text: rest.startsWith(`${behind}/min`) ? rest : floor, host }
}

/** The family that two rows share. */
function shared(family: Family, row: Row, otherwise: Voice): Family {
  const host = family.host === row.host ? row.host : 'both'
  return family.envelope === row.envelope ? { ...family, host } : { ...otherwise, host }
}

function fits(segments: readonly string[], pathSegments: readonly string[]): boolean {
  const isOpen = segments.at(-1)?.startsWith('*') === true
  if (isOpen ? pathSegments.length < segments.length : pathSegments.length !== segments.length) return false
  return segments.every((segment, index) => /^[:*]/.test(segment) || segment === pathSegments[index])
}

/** The methods of rows, each once and in one order. */
export function methodsOf(rows: readonly Pick<Row, 'methods'>[]): readonly Method[] {
  return METHODS.filter((method) => rows.some(({ methods }) => methods.includes(method)))
}
