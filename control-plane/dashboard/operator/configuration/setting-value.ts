import type { OperatorConfigurationQuery } from '#control-plane/dashboard/data/documents/operator-configuration.ts'
import { count, money, percent } from '#control-plane/dashboard/data/format.ts'

export type GivenSetting = NonNullable<OperatorConfigurationQuery['planeSettings']>[number]
type Unit = GivenSetting['unit']

const SECOND_MS = 1_000
const DURATIONS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [SECOND_MS, 's'],
] as const
const SIZES = [
  [1_073_741_824, 'GiB'],
  [1_048_576, 'MiB'],
  [1_024, 'KiB'],
] as const

/** An amount in the largest unit of which it is a whole number. */
function inLargest(amount: number, units: readonly (readonly [size: number, name: string])[], smallest: string) {
  const [size, name] = units.find(([each]) => amount >= each && amount % each === 0) ?? [1, smallest]
  return `${count(amount / size)} ${name}`
}

/** The value of a setting for a reader, such as "5%" for 500 basis points. A text is the value itself. */
export function settingText(value: string, unit: Unit): string {
  if (unit === 'switch') return value === '1' || value === 'true' ? 'on' : 'off'
  const amount = Number(value)
  if (unit === null || value === '' || !Number.isFinite(amount)) return value
  if (unit === 'micro_usd') return money(amount)
  if (unit === 'bps') return percent(amount / 100, 2)
  if (unit === 'ms') return amount === 0 ? '0' : inLargest(amount, DURATIONS, 'ms')
  if (unit === 'seconds') return amount === 0 ? '0' : inLargest(amount * SECOND_MS, DURATIONS, 'ms')
  if (unit === 'bytes') return inLargest(amount, SIZES, 'bytes')
  if (unit === 'months') return amount === 1 ? '1 month' : `${count(amount)} months`
  return unit === 'share' ? percent(amount * 100) : count(amount)
}

/** True for a setting that the environment sets to something else than the default. */
export function isChanged({
  state,
  isSecret,
  value,
  fallback,
  unit,
}: Pick<GivenSetting, 'state' | 'isSecret' | 'value' | 'fallback' | 'unit'>): boolean {
  if (state !== 'set' || isSecret || value === null || fallback === null) return state === 'set'
  return settingText(value, unit) !== settingText(fallback, unit)
}

/** A setting with one value, and the processes that run with this value. */
export type Setting = Omit<GivenSetting, 'node' | 'plane'> & { readonly where: string }

const PLANES = { control: 'control plane', data: 'data planes' } as const

/** Settings by name and value. Processes with different values have lines of their own. */
export function linesOf(settings: readonly GivenSetting[]): readonly Setting[] {
  const processes = new Set(settings.map(placeOf))
  const lines = new Map<string, { setting: GivenSetting; places: Set<string> }>()
  for (const setting of settings) {
    const key = `${setting.name} ${setting.state} ${setting.value}`
    const line = lines.get(key) ?? { setting, places: new Set<string>() }
    line.places.add(placeOf(setting))
    lines.set(key, line)
  }
  return [...lines.values()].map(({ setting: { node: _node, plane: _plane, ...setting }, places }) => ({
    ...setting,
    where: whereOf(places, processes),
  }))
}

const CONTROL = 'control'
const placeOf = ({ plane, node }: GivenSetting) => (plane === 'control' ? CONTROL : (node ?? 'data'))

/** The processes in words: whole planes by name, and single data planes by theirs. */
function whereOf(places: ReadonlySet<string>, all: ReadonlySet<string>): string {
  if (places.size === all.size && places.size > 1) return 'both planes'
  const nodes = [...places].filter((place) => place !== CONTROL)
  const areAllNodes = nodes.length === [...all].filter((place) => place !== CONTROL).length
  const data = nodes.length === 0 ? [] : areAllNodes ? [PLANES.data] : nodes
  return [...(places.has(CONTROL) ? [PLANES.control] : []), ...data].join(', ')
}
