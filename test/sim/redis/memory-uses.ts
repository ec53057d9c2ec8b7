import { DAY, utcDay, utcMonth } from '#shared/clock.ts'
import type { Run } from './memory-run.ts'

/** The used amounts of a key's day and month, as read by a script. */
export type Use = {
  readonly isFresh: boolean
  readonly day: string
  readonly month: string
  readonly dayUsed: number
  readonly monthUsed: number
}

/** Undefined for a counter of a newer epoch. */
export function readUse({ data, epoch, day, month }: Run, counter: string): Use | undefined {
  const fields = data.fields(counter)
  const counted = Number(fields.get('ep') ?? '0')
  if (counted > epoch) return undefined
  const isFresh = counted !== epoch
  const [storedDay, storedMonth] = [fields.get('d'), fields.get('m')]
  const isSameDay = !isFresh && storedDay !== undefined && storedDay >= day
  const isSameMonth = !isFresh && storedMonth !== undefined && storedMonth >= month
  return {
    isFresh,
    day: isSameDay ? storedDay : day,
    month: isSameMonth ? storedMonth : month,
    dayUsed: isSameDay ? Number(fields.get('du')) : 0,
    monthUsed: isSameMonth ? Number(fields.get('mu')) : 0,
  }
}

/** The use of a call that is counted after its admission, on the day of the admission. */
export function readUseOf(run: Run, counter: string, at: number): Use | undefined {
  const use = readUse(run, counter)
  if (use === undefined || at >= Math.floor(run.now / DAY) * DAY) return use
  return { ...use, day: utcDay(at), month: utcMonth(at) }
}

/** Counts an amount in the day and the month of the use. A counter of a later day or month stays as it is. */
export function addUse({ data, epoch }: Run, counter: string, use: Use, amount: number): void {
  if (use.isFresh) {
    data.remove(counter)
    data.setField(counter, 'ep', epoch.toString())
  }
  for (const [period, name, sum] of [
    [use.day, 'd', 'du'],
    [use.month, 'm', 'mu'],
  ] as const) {
    const counted = data.field(counter, name)
    if (counted === undefined || counted < period) {
      data.setField(counter, name, period)
      data.setField(counter, sum, amount.toString())
    } else if (counted === period) data.addToField(counter, sum, amount)
  }
}

/** The text of a hold that names the counters of its budgets and its month in each. Undefined as in {@link readUse}. */
export function budgetsAt(run: Run, keys: string, at: number): string | undefined {
  const counted: string[] = []
  for (const key of keys.split(' ')) {
    const use = readUseOf(run, key, at)
    if (use === undefined) return undefined
    counted.push(`${key} ${use.month}`)
  }
  return counted.join(' ')
}

function pairsOf(text: string): (readonly [key: string, second: string])[] {
  const words = text === '' ? [] : text.split(' ')
  return Array.from({ length: words.length / 2 }, (_, at) => [words[2 * at] ?? '', words[2 * at + 1] ?? ''])
}

/** Grants at most the remainder of each budget. A number is the place of the budget that refuses. */
export function grantOf(
  run: Run,
  { budgets, grant, low }: { readonly budgets: string; readonly grant: number; readonly low: number },
): { readonly grant: number; readonly counted: string } | { readonly refusal: string } {
  const counted: string[] = []
  let granted = grant
  for (const [key, limit] of pairsOf(budgets)) {
    const use = readUse(run, key)
    if (use === undefined) return { refusal: 'S' }
    const left = Number(limit) - use.monthUsed
    if (left < low || (left <= 0 && granted > 0)) return { refusal: `B:${counted.length}:${use.monthUsed}:${run.now}` }
    granted = Math.min(granted, left)
    counted.push(`${key} ${use.month}`)
  }
  return { grant: granted, counted: counted.join(' ') }
}

export function countBudgets({ data, epoch }: Run, counted: string, amount: number): void {
  for (const [key, month] of pairsOf(counted)) {
    if (Number(data.field(key, 'ep')) !== epoch) {
      data.remove(key)
      data.setField(key, 'ep', epoch.toString())
    }
    const stored = data.field(key, 'm')
    if (stored === undefined || stored < month) {
      data.setField(key, 'm', month)
      data.setField(key, 'mu', amount.toString())
    } else if (stored === month) data.addToField(key, 'mu', amount)
  }
}

export function correctBudgets({ data, epoch }: Run, counted: string, amount: number): void {
  for (const [key, month] of pairsOf(counted)) {
    if (Number(data.field(key, 'ep')) === epoch && data.field(key, 'm') === month) data.addToField(key, 'mu', amount)
  }
}

/** Corrects the counters of budgets when a call is posted at `at`, which was admitted at `admitted`. */
export function settleBudgets(
  run: Run,
  keys: string,
  hold: ReadonlyMap<string, string>,
  { at, admitted }: { readonly at: number; readonly admitted: number },
): void {
  const used = hold.get('used') ?? '0'
  if (used === '0') return
  const months = new Map(pairsOf(hold.get('bg') ?? ''))
  const late = hold.get('late')
  const isLate = late !== undefined && at < Number(late)
  for (const key of keys.split(' ')) {
    const fields = run.data.fields(key)
    if (Number(fields.get('ep')) !== run.epoch) continue
    const [mark, month] = [fields.get('sd'), months.get(key)]
    const isInSeed = mark !== undefined && at < Number(mark)
    if (month === undefined) {
      if (mark !== undefined && !isInSeed && !isLate)
        countBudgets(run, budgetsAt(run, key, admitted) ?? '', Number(used))
    } else if (isLate || (isInSeed && fields.has('sa'))) correctBudgets(run, `${key} ${month}`, -Number(used))
    else if (isInSeed || mark === undefined) note(run, key, { sum: 'mp', name: 'pm', period: month, used })
  }
}

type Correction = { readonly day: string | undefined; readonly month: string | undefined; readonly amount: number }

/** Counts a change on the day that the hold names. Counts nothing once that day is over. */
export function correctUse({ data, epoch }: Run, counter: string, { day, month, amount }: Correction): void {
  if (amount === 0 || day === undefined) return
  const fields = data.fields(counter)
  if (Number(fields.get('ep')) !== epoch) return
  const [countedDay, countedMonth] = [fields.get('d'), fields.get('m')]
  if (countedDay === day) data.addToField(counter, 'du', amount)
  if (countedMonth === month) data.addToField(counter, 'mu', amount)
}

export function seedUse({ data, epoch, now, keys: [counter = ''], args }: Run): string {
  const [at = '', day = '', dayUsed = '', month = '', monthUsed = ''] = args
  const counted = Number(data.field(counter, 'ep') ?? '0')
  if (counted > epoch) return 'S'
  if (counted !== epoch) {
    data.remove(counter)
    data.setField(counter, 'ep', epoch.toString())
  }
  const fields = new Map(data.fields(counter))
  if (fields.has('sa')) return 'K'
  if (!fields.has('sd')) data.setField(counter, 'sd', at)
  if (day === '') return `M:${fields.get('sd') ?? at}:${now}`
  for (const [period, used, name, sum, notedPeriod, noted] of [
    [day, dayUsed, 'd', 'du', 'pd', 'dp'],
    [month, monthUsed, 'm', 'mu', 'pm', 'mp'],
  ] as const) {
    const stored = fields.get(name)
    if (stored === undefined || stored < period) {
      data.setField(counter, name, period)
      data.setField(counter, sum, used)
    } else if (stored === period) {
      const known = fields.get(notedPeriod) === period ? Number(fields.get(noted)) : 0
      data.addToField(counter, sum, Number(used) - known)
    }
  }
  data.setField(counter, 'sa', '1')
  return 'K'
}

/** Corrects a counter when a call of its key is posted at an instant. */
export function settleUse(run: Run, counter: string, hold: ReadonlyMap<string, string>, at: number): void {
  const { data, epoch } = run
  const [used, day, month, late] = [hold.get('used') ?? '0', hold.get('kd'), hold.get('km'), hold.get('late')]
  if (day === undefined || used === '0') return
  const fields = data.fields(counter)
  if (Number(fields.get('ep')) !== epoch) return
  const [mark, isSeeded] = [fields.get('sd'), fields.has('sa')]
  const isInSeed = mark !== undefined && at < Number(mark)
  if ((late !== undefined && at < Number(late)) || (isInSeed && isSeeded)) {
    correctUse(run, counter, { day, month, amount: -Number(used) })
    return
  }
  if (isSeeded || (mark !== undefined && !isInSeed)) return
  note(run, counter, { sum: 'dp', name: 'pd', period: day, used })
  note(run, counter, { sum: 'mp', name: 'pm', period: month ?? '', used })
}

type Note = { readonly sum: string; readonly name: string; readonly period: string; readonly used: string }

function note({ data }: Run, counter: string, { sum, name, period, used }: Note): void {
  const noted = data.field(counter, name)
  if (noted === period) {
    data.addToField(counter, sum, Number(used))
  } else if (noted === undefined || noted < period) {
    data.setField(counter, name, period)
    data.setField(counter, sum, used)
  }
}

type Take = { readonly amount: number; readonly deadline: number; readonly day: string }

function readTake(text: string): Take {
  const [amount, deadline, day = ''] = text.split('|')
  return { amount: Number(amount), deadline: Number(deadline), day }
}

/** Drops takes past their deadline. Returns the amount that became free on that day. */
function dropExpired({ data, now }: Run, key: string, day: string): number {
  let freed = 0
  for (const [name, text] of [...data.fields(key)]) {
    if (!name.startsWith('t:')) continue
    const take = readTake(text)
    if (take.deadline >= now) continue
    data.dropField(key, name)
    if (take.day !== day) continue
    freed += take.amount
    data.addToField(key, 'du', -take.amount)
  }
  return freed
}

/** `isBlind` ignores the cap and accepts any amount. */
export function capTake(run: Run, isBlind: boolean): string {
  const {
    data,
    epoch,
    now,
    keys: [key = ''],
    args,
  } = run
  const [attempt = '', amount = '', ttl = '', cap = '', granted = ''] = args
  if (!/^\d{1,14}$/.test(amount)) return 'E:amount'
  const fields = new Map(data.fields(key))
  const counted = Number(fields.get('ep') ?? '0')
  if (counted > epoch) return 'S'
  if (cap === '' && granted < run.day) return 'K'
  const isPresent = counted === epoch
  const storedDay = fields.get('d')
  let day = run.day
  let used = 0
  if (isPresent) {
    if (fields.has(`t:${attempt}`)) return 'K'
    if (storedDay !== undefined && storedDay >= day) {
      day = storedDay
      used = Number(fields.get('du'))
    }
  }
  const rolls = isPresent && storedDay !== day
  if (!isBlind && cap !== '' && used + Number(amount) > Number(cap)) {
    if (isPresent && !rolls) used -= dropExpired(run, key, day)
    if (used + Number(amount) > Number(cap)) return `F:${used}`
  }
  if (!isPresent) {
    data.remove(key)
    for (const [name, text] of [
      ['ep', epoch.toString()],
      ['d', day],
      ['du', '0'],
    ] as const)
      data.setField(key, name, text)
  } else if (rolls) {
    dropExpired(run, key, '')
    data.setField(key, 'd', day)
    data.setField(key, 'du', '0')
  }
  data.setField(key, `t:${attempt}`, `${amount}|${now + Number(ttl)}|${day}`)
  data.addToField(key, 'du', Number(amount))
  return 'K'
}

export function capSettle({ data, epoch, keys: [key = ''], args }: Run, index: number): string {
  const [attempt = '', used = ''] = args.slice(index * 2)
  if (!/^\d{1,14}$/.test(used)) return 'E:amount'
  const fields = data.fields(key)
  const counted = Number(fields.get('ep') ?? '0')
  if (counted > epoch) return 'S'
  const text = fields.get(`t:${attempt}`)
  if (counted !== epoch || text === undefined) return 'K'
  const take = readTake(text)
  const isSameDay = take.day === fields.get('d')
  data.dropField(key, `t:${attempt}`)
  if (isSameDay) data.addToField(key, 'du', Number(used) - take.amount)
  return 'K'
}

/** Counts a capture that is brought by a process other than the one with its take. */
export function capCount({ data, epoch, now, day: today, keys: [key = ''], args }: Run): string {
  const [attempt = '', used = '', day = '', ttl = '', late = ''] = args
  if (!/^\d{1,14}$/.test(used)) return 'E:amount'
  const fields = new Map(data.fields(key))
  const counted = Number(fields.get('ep') ?? '0')
  if (counted > epoch) return 'S'
  const isPresent = counted === epoch
  const text = isPresent ? fields.get(`t:${attempt}`) : undefined
  if (text === undefined && late === '') return 'K'
  const storedDay = isPresent ? fields.get('d') : undefined
  if (day < today || (storedDay !== undefined && storedDay > day)) return 'K'
  if (!isPresent) {
    data.remove(key)
    data.setField(key, 'ep', epoch.toString())
  }
  if (storedDay !== day) {
    data.setField(key, 'd', day)
    data.setField(key, 'du', '0')
  }
  const take = text === undefined ? undefined : readTake(text)
  data.setField(key, `t:${attempt}`, `${used}|${now + Number(ttl)}|${day}`)
  data.addToField(key, 'du', Number(used) - (take?.day === day ? take.amount : 0))
  return 'K'
}
