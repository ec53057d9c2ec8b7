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
  const families = new Map<string, Family>()
  for (const { row, segments } of shapes) {
    const { host, floorBehind: behind } = row
    if (behind !== undefined) places.set(behind, (places.get(behind) ?? host) === host ? host : 'both')
    for (let count = 1; count <= segments.length; count++) {
      const beginning = segments.slice(0, count).join('/')
      const known = families.get(beginning)
      families.set(beginning, known === undefined ? row : shared(known, row, otherwise))
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
      const segments = path.split('/')
      for (let count = segments.length; count > 0; count--) {
        const family = families.get(segments.slice(0, count).join('/'))
        if (family !== undefined) return family
      }
      return { ...otherwise, host: 'both' }
    },
  }
}

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
