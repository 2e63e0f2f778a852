// Runs named checks one after the other, and prints the error of each as JSON: null if it passed.
export async function runChecks(checks) {
  const errors = {};
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      errors[name] = null;
    } catch (caught) {
      errors[name] = caught?.stack ?? String(caught);
    }
  }
  console.log(JSON.stringify(errors));
}

// Waits until a condition holds.
export async function until(condition, what) {
  for (let tries = 0; tries < 3000; tries++) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never: ${what}`);
}
