import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const Chunk = z.object({ file: z.string(), imports: z.array(z.string()).default([]) })
const Manifest = z.record(z.string(), Chunk)
type Manifest = z.infer<typeof Manifest>

const SIDES = ['buyer', 'seller', 'operator']
/** Screens at the root path of a side, and at paths that end with the name of a record. */
const ALONE = new Map([
  ['', 'market/home'],
  ['buyer', 'buyer/overview'],
  ['operator', 'operator/cockpit'],
])
const OF_ONE = new Map([
  ['seller/offers', 'seller/offer'],
  ['market/lent', 'market/lent-resource'],
])

/**
 * The scripts of each screen beyond those of every screen, from the build's manifest. A browser that finds them in the
 * document loads all at once, instead of the screen's scripts after the page's. Without a manifest a screen has none,
 * and the page finds its scripts itself.
 */
export function readScreenScripts(folder: URL): (path: string) => readonly string[] {
  const place = new URL('manifest.json', folder)
  if (!existsSync(place)) return () => []
  const manifest = Manifest.parse(JSON.parse(readFileSync(place, 'utf8')))
  const known = filesOf(manifest, 'index.html')
  const scripts = new Map(
    Object.keys(manifest)
      .filter((name) => name.endsWith('/page.tsx'))
      .map((name) => [name, [...filesOf(manifest, name)].filter((file) => !known.has(file))]),
  )
  return (path) => scripts.get(`${screenOf(path)}/page.tsx`) ?? []
}

/** The folder of the screen at a path: `/model/x` is shown by `market/model`. */
function screenOf(path: string): string {
  const [first = '', second, third] = path.split('/').filter((part) => part !== '')
  const alone = ALONE.get(first)
  if (alone !== undefined && second === undefined) return alone
  const screen = SIDES.includes(first) ? `${first}/${second}` : `market/${first}`
  const isOfOne = (SIDES.includes(first) ? third : second) !== undefined
  return isOfOne ? (OF_ONE.get(screen) ?? screen) : screen
}

/** The files of a part with all of its imports. The manifest lists a part once, so the recursion ends. */
function filesOf(manifest: Manifest, name: string, found = new Set<string>()): ReadonlySet<string> {
  const chunk = manifest[name]
  if (chunk === undefined || found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const other of chunk.imports) filesOf(manifest, other, found)
  return found
}
