// Print the context windows of pi's own catalogue: {provider: {model id: tokens}}. The argument is pi's bundle.
const { ModelRuntime } = await import(process.argv[2]);
const runtime = await ModelRuntime.create({ modelsPath: null });
const found = {};
for (const model of runtime.getAllModels()) {
  if (model.contextWindow > 0) (found[model.provider] ??= {})[model.id] = model.contextWindow;
}
process.stdout.write(JSON.stringify(found));
