/**
 * Counters and histograms that every call adds to. The metrics library finds a meter by its labels and a bucket by its
 * printed bound at each addition. Here both are found once. The output is Prometheus' text format (version 0.0.4).
 */
export type Tallies = {
  counter(name: string, help: string, labelNames: readonly string[]): (...labels: readonly string[]) => Tally
  /** Counts values by ascending upper bounds. */
  histogram(name: string, help: string, labels: HistogramLabels): (...labels: readonly string[]) => Tally
  /** All counts as text, in the order of their declaration. */
  text(): string
}

/** Adds an amount to a counter, or a value to a histogram. */
export type Tally = { add(value: number): void }

export type HistogramLabels = { readonly labelNames: readonly string[]; readonly bounds: readonly number[] }

type Child = Tally & { lines(): string[] }
type Family = { readonly head: string; readonly children: Child[] }

export function createTallies(): Tallies {
  const families: Family[] = []
  const declare = (name: string, help: string, type: 'counter' | 'histogram'): Family => {
    const family = { head: `# HELP ${name} ${help}\n# TYPE ${name} ${type}`, children: [] }
    families.push(family)
    return family
  }
  const addTo = (family: Family, child: Child): Tally => {
    family.children.push(child)
    return child
  }
  return {
    counter(name, help, labelNames) {
      const family = declare(name, help, 'counter')
      return (...labels) => addTo(family, countUp(name, pairs(labelNames, labels)))
    },
    histogram(name, help, { labelNames, bounds }) {
      const family = declare(name, help, 'histogram')
      return (...labels) => addTo(family, countByBound(name, pairs(labelNames, labels), bounds))
    },
    text: () =>
      families
        .map(({ head, children }) => `${[head, ...children.flatMap((child) => child.lines())].join('\n')}\n`)
        .join('\n'),
  }
}

function countUp(name: string, labels: readonly string[]): Child {
  let total = 0
  return {
    add(amount) {
      total += amount
    },
    lines: () => [`${name}${inBraces(labels)} ${total}`],
  }
}

function countByBound(name: string, labels: readonly string[], bounds: readonly number[]): Child {
  // The last place counts values above every bound.
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    add(value) {
      let at = 0
      while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
      counts[at] = (counts[at] ?? 0) + 1
      sum += value
    },
    lines() {
      let below = 0
      const lines = [...bounds, '+Inf'].map((bound, at) => {
        below += counts[at] ?? 0
        return `${name}_bucket${inBraces([`le="${bound}"`, ...labels])} ${below}`
      })
      return [...lines, `${name}_sum${inBraces(labels)} ${sum}`, `${name}_count${inBraces(labels)} ${below}`]
    },
  }
}

function pairs(names: readonly string[], values: readonly string[]): string[] {
  return names.map((name, at) => `${name}="${escapeLabel(values[at] ?? '')}"`)
}

function inBraces(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `{${labels.join(',')}}`
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
