/** The path of a model, whose name has segments: `fal-ai/flux/schnell`. Dot segments would lead to another place. */
export function pathOfModel(providerModel: string): string {
  const segments = providerModel.split('/').filter((segment) => !/^\.{0,2}$/.test(segment))
  return `/${segments.map(encodeURIComponent).join('/')}`
}
